import { hash } from 'node:crypto'

/** Decisions that one seed makes: the same seed, the same decisions in the same order. */
export interface Chance {
  /** From 0 up to, not including, 1. */
  next(): number
  /** Both ends included. */
  integer(min: number, max: number): number
  happens(probability: number): boolean
  pick<T>(list: readonly [T, ...T[]]): T
  /** One of the items, each as often as its weight says. */
  weighted<T>(list: readonly (readonly [weight: number, item: T])[]): T
  /** Decisions of their own, so that more of them here change nothing elsewhere. */
  apart(name: string): Chance
}

/** Makes the decisions of a seed (mulberry32, a public-domain generator with 32 bits of state). */
export function chanceOf(seed: string): Chance {
  let state = Number.parseInt(hash('sha256', seed).slice(0, 8), 16)
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (min: number, max: number) => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    integer,
    happens: (probability) => next() < probability,
    pick: (list) => list[integer(0, list.length - 1)] ?? list[0],
    weighted(list) {
      let rest = next() * list.reduce((sum, [weight]) => sum + weight, 0)
      for (const [weight, item] of list) {
        rest -= weight
        if (rest < 0) return item
      }
      throw new RangeError('there is nothing to choose from')
    },
    apart: (name) => chanceOf(`${seed} ${name}`),
  }
}
