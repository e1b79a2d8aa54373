/**
 * Frees memory now: the collector sees only a small object and may keep a large buffer for long.
 * Every view of it is empty afterwards.
 */
export function free({ buffer }: ArrayBufferView<ArrayBuffer>): void {
  buffer.transfer(0)
}
