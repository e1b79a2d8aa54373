import type { Chance } from './chance.ts'
import type { FastTime } from './fast-time.ts'
import type { IndexerLife, Indexers } from './indexers.ts'

/** What befalls the indexers themselves. */
export interface LifeDeps {
  readonly chance: Chance
  readonly indexers: Indexers
  readonly time: FastTime
  tell(line: string): void
}

export type LifeStep = (deps: LifeDeps) => Promise<string | undefined> | string | undefined

/** One leads, one waits; more would only wait. */
const LIVES_MAX = 2

function alive({ lives }: Indexers): readonly IndexerLife[] {
  return lives.filter(({ state }) => state === 'alive')
}

/** Somewhere within the next commits. */
const dieSoon: LifeStep = ({ chance, indexers, tell }) => {
  const [life] = alive(indexers)
  if (life === undefined) return undefined
  const step = chance.pick([chance.integer(1, 12), chance.integer(1, 60), chance.integer(1, 300)])
  life.mortal.dieAt(step, () => {
    if (life.state === 'ended') return
    tell(`an indexer died at its step ${life.mortal.steps()}`)
    indexers.kill(life)
  })
  return `an indexer will die in ${step} steps`
}

const dieNow: LifeStep = ({ indexers }) => {
  const [life] = alive(indexers)
  if (life === undefined) return undefined
  indexers.kill(life)
  return `an indexer died at its step ${life.mortal.steps()}`
}

const stopWell: LifeStep = async ({ indexers }) => {
  const [life] = alive(indexers)
  if (life === undefined) return undefined
  await indexers.stop(life)
  return 'an indexer stopped in good order'
}

const startAnother: LifeStep = ({ indexers }) => {
  if (indexers.lives.filter(({ state }) => state !== 'ended').length >= LIVES_MAX) return undefined
  indexers.start()
  return 'another indexer started'
}

/** Another one is there to take over, once the lease has run out. */
const freeze: LifeStep = ({ indexers }) => {
  const [life, next] = alive(indexers)
  if (life === undefined) return undefined
  life.mortal.freeze()
  life.state = 'frozen'
  if (next === undefined) indexers.start()
  return 'an indexer stands still while another runs'
}

const wake: LifeStep = ({ indexers }) => {
  const life = indexers.lives.find(({ state }) => state === 'frozen')
  if (life === undefined) return undefined
  life.state = 'alive'
  life.mortal.wake()
  return 'an indexer goes on'
}

const turnClock: LifeStep = ({ chance, time }) => {
  const ms = chance.pick([86_400_000, 600_000, 90_000, -90_000, -600_000])
  time.turnClock(ms)
  return `the clock jumps by ${ms / 1_000} s`
}

/** What may befall the indexers, and how often. */
export const lifeSteps: readonly (readonly [weight: number, step: LifeStep])[] = [
  [4, dieSoon],
  [1, dieNow],
  [1, stopWell],
  [5, startAnother],
  [2, freeze],
  [3, wake],
  [0.7, turnClock],
]
