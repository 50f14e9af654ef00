const LF = 0x0a;

/**
 * Cuts a stream of bytes at LF. Works on bytes, so that characters in two pieces stay whole and
 * U+2028 is no line end; keeps the pieces of a long line apart, so that it costs linear time.
 */
export class LineSplitter {
  #pieces: Uint8Array[] = [];

  /** Takes bytes and gives the lines that they complete, without the line end. */
  push(bytes: Uint8Array): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, start)) {
      this.#pieces.push(bytes.subarray(start, end));
      lines.push(this.#take());
      start = end + 1;
    }
    if (start < bytes.length) this.#pieces.push(bytes.subarray(start));
    return lines;
  }

  #take(): string {
    const line = Buffer.concat(this.#pieces).toString("utf8");
    this.#pieces = [];
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  }
}
