/** More than are ever waiting at a time; what is given back beyond them is let go. */
const BUFFERS_MAX = 4

/** Sizes are rounded up, so that an answer somewhat larger than the last one fits as well. */
const STEP_BYTES = 1 << 20

/**
 * Memory of answers that were read, for those to come. A history of gigabytes goes through a few
 * buffers, instead of asking the system for new pages each time.
 */
export class BodyPool {
  readonly #free: Buffer[] = []

  /** A buffer of so many bytes, with whatever it held before. */
  take(size: number): Buffer {
    const place = this.#free.findIndex((buffer) => buffer.length >= size)
    const [found] = place < 0 ? [] : this.#free.splice(place, 1)
    const rounded = Math.ceil(Math.max(1, size) / STEP_BYTES) * STEP_BYTES
    return (found ?? Buffer.allocUnsafeSlow(rounded)).subarray(0, size)
  }

  /** Nothing may look at the bytes any more. */
  give(body: Uint8Array): void {
    // Only what was taken from here fills whole steps; other memory is not ours to write to.
    const { buffer, byteOffset } = body
    if (byteOffset !== 0 || buffer.byteLength % STEP_BYTES !== 0) return
    if (this.#free.length < BUFFERS_MAX) this.#free.push(Buffer.from(buffer))
  }
}
