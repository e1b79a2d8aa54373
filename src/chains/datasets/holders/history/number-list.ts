import { free } from '#lib/free.ts'

const GROWTH = 1.5

export class NumberList {
  #numbers = new Float64Array(1_024)
  #count = 0

  push(value: number): void {
    if (this.#count === this.#numbers.length) {
      const more = new Float64Array(Math.ceil(this.#count * GROWTH))
      more.set(this.#numbers)
      free(this.#numbers)
      this.#numbers = more
    }
    this.#numbers[this.#count] = value
    this.#count += 1
  }

  all(): Float64Array<ArrayBuffer> {
    return this.#numbers.subarray(0, this.#count)
  }
}
