// The interface, drawn from its own description.
import { el } from "./shared/dom.js";

const described = await (await fetch("/openapi.json")).json();
const groups = new Map();

for (const [path, verbs] of Object.entries(described.paths)) {
  for (const [method, verb] of Object.entries(verbs)) {
    const group = verb.tags?.[0] ?? "other";
    groups.set(group, [...(groups.get(group) ?? []), { path, method, verb }]);
  }
}

function resolve(schema) {
  return schema?.$ref ? described.components.schemas[schema.$ref.split("/").at(-1)] : schema;
}

/** The shape of a value, written like one. */
function shape(schema, depth = 0) {
  const found = resolve(schema);
  if (!found || depth > 5) return "…";
  if (found.const !== undefined) return JSON.stringify(found.const);
  if (found.enum) return found.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (found.anyOf) return found.anyOf.map((option) => shape(option, depth)).join(" | ");
  if (found.prefixItems) return `[${found.prefixItems.map((item) => shape(item, depth + 1)).join(", ")}]`;
  if (found.type === "array") return `[${shape(found.items, depth + 1)}, …]`;
  if (!found.properties) return found.type ?? "…";
  const pad = "  ".repeat(depth + 1);
  const lines = Object.entries(found.properties).map(([name, value]) => `${pad}"${name}": ${shape(value, depth + 1)}`);
  return `{\n${lines.join(",\n")}\n${"  ".repeat(depth)}}`;
}

function fields(schema, parameters = []) {
  const list = el("dl");
  for (const parameter of parameters) {
    list.append(el("dt", {}, `${parameter.name} (${parameter.in})`), el("dd", {}, parameter.description ?? ""));
  }
  for (const [name, value] of Object.entries(resolve(schema)?.properties ?? {})) {
    if (value.description) list.append(el("dt", {}, name), el("dd", {}, value.description));
  }
  return list;
}

function draw({ path, method, verb }) {
  const body = verb.requestBody?.content?.["application/json"]?.schema;
  const [status, answer] = Object.entries(verb.responses).find(([code]) => code.startsWith("2"));
  const answered = answer.content?.["application/json"]?.schema;
  return el("details", {},
    el("summary", {}, el("b", {}, method.toUpperCase()), el("code", {}, path), el("span", {}, verb.description ?? "")),
    el("div.inside", {},
      fields(body, verb.parameters),
      ...(body ? [el("p", {}, "Send"), el("pre", {}, shape(body))] : []),
      el("p", {}, `Answer ${status}`),
      ...(answered ? [fields(answered), el("pre", {}, shape(answered))] : [])));
}

for (const [group, verbs] of groups) {
  document.getElementById("verbs").append(el("h2", {}, group), ...verbs.map(draw));
}
