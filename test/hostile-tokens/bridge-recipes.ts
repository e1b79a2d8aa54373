import type { Address } from 'viem'
import { bridgesOn } from './bridges.ts'
import { bridgeLog } from './hostile-logs.ts'
import { least, type TransactionDraft, U256_MAX } from './transaction-draft.ts'

export const bridgeRecipes: readonly (readonly [number, (draft: TransactionDraft) => void])[] = [
  [4, (draft) => cross(draft, draft.amount(), 0n)],
  [2, (draft) => cross(draft, draft.amount(), 1n)],
  [2, crossTwice],
]

/** A mint or burn with an event of a bridge, whose amount differs by `off`. */
function cross(draft: TransactionDraft, wanted: bigint, off: bigint): void {
  const { chance } = draft
  const who = draft.holder()
  const isBurn = draft.balance(who) > 0n && chance.happens(0.5)
  const amount = isBurn ? draft.share(who) : wanted
  const steps = [
    () => announce(draft, who, least(amount + off, U256_MAX)),
    () => move(draft, who, amount, isBurn),
  ]
  if (chance.happens(0.5)) steps.reverse()
  for (const step of steps) step()
}

/** Two moves of one amount, of which the bridge announces one or both. */
function crossTwice(draft: TransactionDraft): void {
  const { chance } = draft
  const who = draft.somebody()
  const amount = draft.amount()
  const isBurnedAgain = chance.happens(0.5)
  draft.mint(who, amount)
  announce(draft, who, amount)
  move(draft, who, amount, isBurnedAgain)
  if (chance.happens(0.5)) announce(draft, who, amount)
}

function move(draft: TransactionDraft, who: Address, amount: bigint, isBurn: boolean): void {
  if (isBurn) draft.burn(who, amount)
  else draft.mint(who, amount)
}

function announce(draft: TransactionDraft, who: Address, amount: bigint): void {
  const { chance, chain, contracts, token } = draft
  const own = bridgesOn(chain).filter(
    (each) => each.token === (token === contracts.grave ? 'GRAVE' : 'CRYPT'),
  )
  const [first, second] = own
  if (first === undefined || second === undefined) throw new RangeError('a token has two bridges')
  draft.add(bridgeLog(chance.pick([first, second]), { token, from: who, to: who, amount }))
}
