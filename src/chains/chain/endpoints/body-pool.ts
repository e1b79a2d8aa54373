const BUFFERS_MAX = 4

const STEP_BYTES = 1 << 20

/** Gigabytes of history must not allocate new pages each time. */
export class BodyPool {
  readonly #free: Buffer[] = []

  take(size: number): Buffer {
    const place = this.#free.findIndex((buffer) => buffer.length >= size)
    const [found] = place < 0 ? [] : this.#free.splice(place, 1)
    const rounded = Math.ceil(Math.max(1, size) / STEP_BYTES) * STEP_BYTES
    return (found ?? Buffer.allocUnsafeSlow(rounded)).subarray(0, size)
  }

  give(body: Uint8Array): void {
    // Only this pool's buffers are whole steps.
    const { buffer, byteOffset } = body
    if (byteOffset !== 0 || buffer.byteLength % STEP_BYTES !== 0) return
    if (this.#free.length < BUFFERS_MAX) this.#free.push(Buffer.from(buffer))
  }
}
