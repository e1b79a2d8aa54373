import type { ChainName } from '#devnet/addresses.ts'
import type { Call } from '#devnet/calls.ts'
import { type DeedContext, deeds } from '#devnet/deeds.ts'
import type { Pace } from '#devnet/pace.ts'
import type { World } from '#devnet/world.ts'

/** The transactions between two times (Unix seconds), in a valid order; updates the world. */
export function activityCalls(
  world: World,
  period: { readonly fromUnix: number; readonly toUnix: number; readonly pace: Pace },
): readonly Call[] {
  const days = ((period.toUnix - period.fromUnix) / secondsPerDay) * period.pace.rate
  const kinds = Object.keys(deeds).flatMap((kind) => {
    const perDay = ratesPerDay[kind]?.[world.chain.name] ?? 0
    return new Array<string>(countDue(world, kind, perDay * days)).fill(kind)
  })
  const context: DeedContext = { atUnix: period.toUnix, pace: period.pace }
  return world.random.shuffle(kinds).flatMap((kind) => deeds[kind]?.(world, context) ?? [])
}

const secondsPerDay = 86_400

const ratesPerDay: Readonly<Record<string, Readonly<Record<ChainName, number>>>> = {
  updateFeed: { base: 14, ethereum: 8, arbitrum: 3 },
  distribute: { base: 1.2, ethereum: 0.6, arbitrum: 0.3 },
  claim: { base: 13, ethereum: 6, arbitrum: 2 },
  dig: { base: 10, ethereum: 4, arbitrum: 1.5 },
  transferGrave: { base: 22, ethereum: 9, arbitrum: 3 },
  transferCrypt: { base: 10, ethereum: 4, arbitrum: 1.5 },
  burnGrave: { base: 7, ethereum: 4, arbitrum: 1.5 },
  buryGrave: { base: 5, ethereum: 3, arbitrum: 1 },
  burnCrypt: { base: 1.5, ethereum: 0.7, arbitrum: 0.3 },
  buryCrypt: { base: 1, ethereum: 0.5, arbitrum: 0.2 },
  swapGrave: { base: 8, ethereum: 0, arbitrum: 0 },
  swapCrypt: { base: 7, ethereum: 0, arbitrum: 0 },
}

// The remainder carries over, so that no kind is absent for long.
function countDue(world: World, kind: string, expected: number): number {
  const due =
    (world.due.get(kind) ?? world.random.unit()) + expected * world.random.between(0.5, 1.5)
  const count = Math.floor(due)
  world.due.set(kind, due - count)
  return count
}
