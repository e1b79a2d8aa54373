import type { Engine } from '#db/engine.ts'
import type { FigureDifference } from './figures.ts'
import type { WorldPlan } from './world-plan.ts'

/** What a run was made of. */
export interface Run {
  readonly seed: number
  readonly dialect: Engine['dialect']
  readonly plan: WorldPlan
}

/** Names the run, then the first difference of each kind. */
export function describeFailure(
  { seed, dialect, plan }: Run,
  differences: readonly FigureDifference[],
): string {
  const { proofs, features, chains } = plan
  const lines = differences.map(
    ({ name, recounted, registered }) =>
      `  ${name}\n    recount:  ${recounted}\n    register: ${registered}`,
  )
  return [
    `seed ${seed} on ${dialect} with proofs "${proofs}": the register differs from the recount`,
    `  chains: ${chains.join(', ')}; features: ${[...features].join(', ') || 'none'}`,
    ...lines,
  ].join('\n')
}
