/** Frees at once what the collector may keep for long. All views become empty. */
export function free({ buffer }: ArrayBufferView<ArrayBuffer>): void {
  buffer.transfer(0)
}
