// Server-sent events from a fetch: `EventSource` cannot show a token, and cannot be told where to go on.

/** Cuts a text stream into events as the HTML standard says ("9.2.6 Interpreting an event stream"). */
export class EventReader {
  #rest = "";
  #event = { name: "", data: [], id: undefined };
  #afterReturn = false;

  /** Takes a piece of the stream, and gives the events that are complete. */
  take(piece) {
    const events = [];
    // A line may end with a return whose newline comes with the next piece.
    if (this.#afterReturn && piece.startsWith("\n")) piece = piece.slice(1);
    this.#afterReturn = piece.endsWith("\r");
    const lines = (this.#rest + piece).split(/\r\n|\n|\r/);
    this.#rest = lines.pop();
    for (const line of lines) {
      if (line !== "") this.#line(line);
      else {
        const { name, data, id } = this.#event;
        // An id without data is no event, but the place to go on from: its name is empty.
        if (data.length) events.push({ name: name || "message", data: data.join("\n"), id });
        else if (id !== undefined) events.push({ name: "", data: "", id });
        this.#event = { name: "", data: [], id: undefined };
      }
    }
    return events;
  }

  #line(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "event") this.#event.name = value;
    else if (field === "data") this.#event.data.push(value);
    else if (field === "id") this.#event.id = value;
  }
}
