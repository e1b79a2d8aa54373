/**
 * Gives memory back now instead of when the collector comes by: it sees a small object and may leave it
 * for long, however much lies behind it. Nothing may look at it any more; every view of it is empty then.
 */
export function free({ buffer }: ArrayBufferView<ArrayBuffer>): void {
  buffer.transfer(0)
}
