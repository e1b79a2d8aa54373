import type { Engine } from '#db/engine.ts'
import type { FigureDifference } from './figures.ts'
import type { Feature, WorldPlan } from './world-plan.ts'

/** What a run was made of. */
export interface Run {
  readonly seed: number
  readonly dialect: Engine['dialect']
  readonly plan: WorldPlan
  /** Features that were asked for instead of those of the seed. */
  readonly only: readonly Feature[] | undefined
}

/** Names the run and how to repeat it, then the first difference of each kind. */
export function describeFailure(
  { seed, dialect, plan, only }: Run,
  differences: readonly FigureDifference[],
): string {
  const { proofs, features, chains } = plan
  const asked = only === undefined ? '' : ` --only ${only.join(' ')}`
  const lines = differences.map(
    ({ name, recounted, registered }) =>
      `  ${name}\n    recount:  ${recounted}\n    register: ${registered}`,
  )
  return [
    `seed ${seed} on ${dialect} with proofs "${proofs}": the register differs from the recount`,
    `  chains: ${chains.join(', ')}; features: ${[...features].join(', ') || 'none'}`,
    `  repeat: node test/hostile-tokens/main.ts --seed ${seed} --engine ${dialect} --proofs ${proofs}${asked}`,
    ...lines,
  ].join('\n')
}
