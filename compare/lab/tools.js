// The two tools of the browser loop: a calculator and a document search, as small as they can be.

/** Works out a sum: numbers, + - * / // % **, parentheses. Nothing is evaluated as code. Throws an Error in words. */
export function calculate(expression) {
  if (typeof expression !== "string") throw new Error("the expression must be a text");
  if (expression.length > 1000) throw new Error("the expression has more than 1,000 characters");
  const parts = expression.match(/\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\*\*|\/\/|[-+*/%()]|\S/g) ?? [];
  let at = 0, depth = 0;

  const next = (...signs) => signs.includes(parts[at]) ? parts[at++] : "";

  const sum = () => {
    let left = product();
    for (let sign; (sign = next("+", "-"));) left = sign === "+" ? left + product() : left - product();
    return left;
  };
  const product = () => {
    let left = signed();
    for (let sign; (sign = next("*", "/", "//", "%"));) left = divided(sign, left, signed());
    return left;
  };
  const divided = (sign, left, right) => {
    if (sign === "*") return left * right;
    if (right === 0) throw new Error("division by zero");
    if (sign === "/") return left / right;
    return sign === "//" ? Math.floor(left / right) : left - right * Math.floor(left / right);
  };
  const signed = () => {
    const sign = next("+", "-");
    return sign ? nested(() => sign === "-" ? -signed() : signed()) : power();
  };
  const power = () => {
    const base = single();
    return next("**") ? nested(() => base ** signed()) : base;
  };
  const single = () => {
    if (next("(")) return nested(() => {
      const value = sum();
      if (!next(")")) throw new Error("a bracket is not closed");
      return value;
    });
    if (!/^[\d.]/.test(parts[at] ?? "")) throw new Error(`a number is expected, not ${parts[at] ?? "the end"}`);
    return Number(parts[at++]);
  };
  const nested = work => {
    if (++depth > 50) throw new Error("nested more than 50 deep");
    const value = work();
    depth--;
    return value;
  };

  const value = sum();
  if (at < parts.length) throw new Error(`an operator is expected, not ${parts[at]}`);
  if (!Number.isFinite(value)) throw new Error("the result is beyond the range of a number");
  return value;
}

/** The documents that hold every word of the query, at most three; those with more of them in the title first. */
export function search(documents, query) {
  const words = typeof query === "string" ? query.toLowerCase().split(/\s+/).filter(Boolean) : [];
  if (!words.length) throw new Error("the query is empty");
  const titles = one => words.filter(word => one.title.toLowerCase().includes(word)).length;
  const found = documents.filter(one => words.every(word => `${one.title} ${one.text}`.toLowerCase().includes(word)));
  return {documents: found.sort((one, other) => titles(other) - titles(one)).slice(0, 3), found: found.length};
}
