"""Which names in a folder usually hold secrets, and are therefore kept from a model."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

# Each pattern is compared with every name on the way to a file, without regard to case.
SECRETS: tuple[str, ...] = (
    # settings with passwords in them: dotenv, direnv
    ".env*",
    "*.env",
    # version control: remote addresses with tokens, and everything that was ever committed
    ".git",
    ".hg",
    ".svn",
    ".git-credentials",
    # private keys and key stores: ssh-keygen(1), openssl(1), PuTTY, Java, KeePass
    ".ssh",
    ".gnupg",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.ppk",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    # logins that command-line clients keep
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".aws",
    ".azure",
    ".gcloud",
    ".kube",
    ".docker",
    ".dockercfg",
    ".vault-token",
    "credentials",
    "credentials.json",
    "client_secret*.json",
    "application_default_credentials.json",
    "*.tfstate",
)


def is_secret(path: str, secrets: Iterable[str] = SECRETS, allowed: Iterable[str] = ()) -> bool:
    """Whether a name on this path matches a pattern of `secrets` and none of `allowed`."""
    names = [name.casefold() for name in path.split("/")]
    return any(_matches(name, secrets) and not _matches(name, allowed) for name in names)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern.casefold()) for pattern in patterns)
