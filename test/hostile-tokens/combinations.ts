import type { EngineName } from '#test/program-options.ts'
import type { WorldPlan } from './world-plan.ts'

/** Spreads seeds over both engines and both settings of proofs. */
export function combinationOf(seed: number): {
  readonly engine: EngineName
  readonly proofs: WorldPlan['proofs']
} {
  return {
    engine: seed % 2 === 0 ? 'postgres' : 'sqlite',
    proofs: seed % 4 < 2 ? 'every' : 'deposits',
  }
}
