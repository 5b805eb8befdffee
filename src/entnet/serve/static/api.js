// Talking to the service: every call gives plain values or throws an Error with a message for people.

export class ServiceError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let askForKey = async () => null;
let asking = null;

/** Who is asked for a key when the service wants one. */
export function onKeyNeeded(ask) {
  askForKey = ask;
}

/** Several calls may find out at once that a key is needed; it is asked for once. */
function theKey() {
  asking ??= askForKey().finally(() => { asking = null; });
  return asking;
}

export async function call(method, path, body) {
  const headers = { accept: "application/json" };
  const key = sessionStorage.getItem("entnet-key");
  if (key) headers["x-api-key"] = key;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new ServiceError(0, "The service does not answer. Is it still running?");
  }
  if (response.status === 401) {
    const given = await theKey();
    if (given) {
      sessionStorage.setItem("entnet-key", given);
      return call(method, path, body);
    }
  }
  if (response.status === 204) return null;
  const value = await response.json().catch(() => ({ detail: response.statusText }));
  if (!response.ok) throw new ServiceError(response.status, value.detail || response.statusText);
  return value;
}

/** A story being read by the service. Where the session is gone, it is read again from the start. */
export class Session {
  constructor(id, model) {
    this.id = id;
    this.model = model;
    this.sentences = [];
  }

  static async start(model, sentences) {
    const opened = await call("POST", "/sessions", {
      model, text: sentences.length ? sentences.join("\n") : null,
    });
    const session = new Session(opened.id, opened.model);
    session.sentences = opened.sentences;
    return session;
  }

  async read(text) {
    const result = await this.#use("POST", "read", { text });
    this.sentences = [...this.sentences, ...result.read.map((item) => item.sentence)];
    return result;
  }

  async undo() {
    this.sentences = (await this.#use("POST", "undo", { sentences: 1 })).sentences;
  }

  trace() {
    return this.#use("GET", "trace");
  }

  ask(question, after) {
    return this.#use("POST", "ask", { question, after });
  }

  /** Without waiting: a session that is not ended goes by itself. */
  end() {
    call("DELETE", `/sessions/${this.id}`).catch(() => {});
  }

  async #use(method, verb, body) {
    try {
      return await call(method, `/sessions/${this.id}/${verb}`, body);
    } catch (error) {
      if (error.status !== 404) throw error;
      this.id = (await Session.start(this.model, this.sentences)).id;
      return call(method, `/sessions/${this.id}/${verb}`, body);
    }
  }
}
