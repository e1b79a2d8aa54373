/**
 * Must be imported before anything that keeps `Math.random` for itself, so that what it keeps can
 * be steered by a seed later on.
 */
const unseeded = Math.random
let current = unseeded
Math.random = () => current()

/** Makes `Math.random` follow a seed; back to chance without one. */
export function seedRandom(next?: () => number): void {
  current = next ?? unseeded
}
