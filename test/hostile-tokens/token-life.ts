import type { Hex } from 'viem'
import { addresses, type ChainName } from '#devnet/addresses.ts'
import type { BlockPlan, BuiltChain, LogPlan } from '#test/chain-builder/built-chain.ts'
import type { Chance } from '#test/chance.ts'
import { Holdings } from './holdings.ts'
import { firstPrices } from './price-recipes.ts'
import { featureRecipes, plainRecipes, type Recipe } from './recipes.ts'
import { TransactionDraft } from './transaction-draft.ts'
import type { Pace, WorldPlan } from './world-plan.ts'

/** What chance brings to one chain. */
export interface TokenLife {
  /** The chain with its first prices, if it has any, and empty blocks around them. */
  begin(empty: BuiltChain): BuiltChain
  grow(chain: BuiltChain, count: number, pace: Pace): BuiltChain
  /** Another branch above a block: most of the old transactions again, and new ones. */
  rewrite(chain: BuiltChain, ancestor: number): BuiltChain
}

type Transaction = readonly LogPlan[]

/** No log of interest is in a lower block. */
const FIRST_LIVELY_BLOCK = 5

const paces: Readonly<Record<Pace, readonly [number, ...number[]]>> = {
  seconds: [0, 1, 2, 2, 12, 12],
  hours: [0, 2, 12, 3_600, 20_000],
  days: [0, 12, 40_000, 86_400, 200_000],
}

/** Opens the life of one chain. */
export function makeTokenLife(chance: Chance, name: ChainName, plan: WorldPlan): TokenLife {
  const recipes = recipesOf(plan)
  const contents = new Map<Hex, readonly Transaction[]>()
  let transactions = 0

  function newTransaction(holdings: Holdings): Transaction {
    transactions += 1
    const transaction = `${name} ${transactions}`
    const draft = new TransactionDraft({ chance, chain: name, plan, holdings })
    const isMixed = plan.features.has('mixed-transactions') && chance.happens(0.4)
    for (let left = isMixed ? chance.integer(2, 4) : 1; left > 0; left -= 1)
      chance.weighted(recipes)(draft)
    return draft.logs.map((log) => ({ ...log, transaction }))
  }

  function build(
    chain: BuiltChain,
    input: { readonly count: number; readonly pace: Pace; readonly old: readonly Transaction[][] },
  ): BuiltChain {
    const holdings = Holdings.at(chain)
    const plans: BlockPlan[] = []
    const written: Transaction[][] = []
    for (let index = 0; index < input.count; index += 1) {
      const kept = (input.old[index] ?? []).filter((each) => canRepeat(plan, name, holdings, each))
      const fresh = Array.from({ length: chance.pick([0, 1, 1, 2, 3]) }, () =>
        newTransaction(holdings),
      )
      const all = [...kept, ...fresh].filter((each) => each.length > 0)
      written.push(all)
      plans.push({ secondsApart: chance.pick(paces[input.pace]), logs: all.flat() })
    }
    const grown = chain.add(...plans)
    for (const [index, each] of written.entries())
      contents.set(grown.at(chain.blocks.length + index).hash, each)
    return grown
  }

  return {
    begin(empty) {
      const priced = name === 'base' ? empty.add({ logs: firstPrices }) : empty
      return priced.addEmpty(FIRST_LIVELY_BLOCK - priced.blocks.length, 12)
    },
    grow: (chain, count, pace) => build(chain, { count, pace, old: [] }),
    rewrite(chain, ancestor) {
      const left = chain.blocks.slice(ancestor + 1)
      const old = left.map(({ hash }) =>
        (contents.get(hash) ?? []).filter(() => chance.happens(0.7)),
      )
      const count = left.length + chance.integer(1, 2)
      return build(chain.fork(ancestor), { count, pace: 'seconds', old })
    },
  }
}

function recipesOf({ features }: WorldPlan): readonly (readonly [number, Recipe])[] {
  return [...plainRecipes, ...[...features].flatMap((feature) => featureRecipes[feature] ?? [])]
}

/** Adds the transaction to what everybody holds, unless it explains nothing on this branch. */
function canRepeat(
  plan: WorldPlan,
  name: ChainName,
  holdings: Holdings,
  transaction: Transaction,
): boolean {
  const { grave, crypt } = addresses[name]
  const after = holdings.copy()
  after.add(transaction)
  const isValid = plan.features.has('unexplained-balances') || !after.isOverdrawn([grave, crypt])
  if (isValid) holdings.add(transaction)
  return isValid
}
