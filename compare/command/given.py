"""What a lane's command is given beside the prompt: variables in its environment."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compare.runner import Task


def variables(task: "Task", base_url: str, key: str, folder: str) -> dict[str, str]:
    """The model's endpoint under the names that clients know, and what else the task says under names of ours.

    `folder` holds the workspace, where the task names no folder of the user's.
    """
    return {
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_KEY": key,
        "OPENAI_MODEL": task.model,
        "DIPTYCH_ROOT": str(task.root or folder),
        "DIPTYCH_MAX_ROUNDS": str(task.max_rounds),
        "DIPTYCH_TIMEOUT": f"{task.timeout:g}",
        **({"DIPTYCH_STREAM": "1"} if task.stream else {}),
        **({"DIPTYCH_SYSTEM": task.system} if task.system is not None else {}),
    }
