import { type Address, zeroAddress } from 'viem'
import { accounts, addresses, burnAddress } from '#devnet/addresses.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { bridgeRecipes } from './bridge-recipes.ts'
import { indexedTransfer, unindexedTransfer } from './hostile-logs.ts'
import { movePrice, movePriceHigh } from './price-recipes.ts'
import { least, type TransactionDraft, U256_MAX } from './transaction-draft.ts'
import { type Feature, payer } from './world-plan.ts'

/** Writes logs into a transaction. */
export type Recipe = (draft: TransactionDraft) => void

/** What happens in every history, each as often as its weight says. */
export const plainRecipes: readonly (readonly [weight: number, Recipe])[] = [
  [4, (draft) => draft.mint(draft.somebody(), draft.amount())],
  [6, transferShare],
  [3, burnShare],
  [3, (draft) => claim(draft, draft.amount())],
  [1, distribute],
  [2, (draft) => pay(draft, draft.amount())],
]

/** What a feature adds. */
export const featureRecipes: Partial<Record<Feature, readonly (readonly [number, Recipe])[]>> = {
  'flash-mints': [[5, flashMint]],
  'undone-mints': [
    [3, (draft) => mintThenBurn(draft, 103n)],
    [3, (draft) => mintThenBurn(draft, 5n)],
    [4, mintsThenBurns],
  ],
  'half-burns': [[4, halfBurn]],
  'moving-prices': [[5, movePrice]],
  'high-prices': [[3, movePriceHigh]],
  'self-transfers': [[2, selfTransfer]],
  'zero-pairs': [[3, (draft) => draft.move(zeroAddress, zeroAddress, 1_000n)]],
  'zero-amounts': [[4, nothing]],
  'burn-addresses': [[4, toBurnAddress]],
  'mints-to-burn-addresses': [[2, (draft) => draft.mint(burnAddress, draft.amount())]],
  'unexplained-balances': [[1, overdraw]],
  'unlisted-tokens': [[3, unlisted]],
  dialects: [[1, dialect]],
  bridges: bridgeRecipes,
  payouts: [[5, payOut]],
}

function transferShare(draft: TransactionDraft): void {
  const from = draft.holder()
  const to = draft.somebody()
  const amount = draft.share(from)
  if (amount === 0n || from === to) draft.mint(to, draft.amount())
  else draft.move(from, to, amount)
}

function burnShare(draft: TransactionDraft): void {
  const from = draft.holder()
  const amount = draft.share(from)
  if (amount === 0n) draft.mint(from, draft.amount())
  else draft.burn(from, amount)
}

function claim(draft: TransactionDraft, amount: bigint, token = rewardOf(draft)): void {
  const { distributor } = draft.contracts
  draft.add(logOf.claim(distributor, draft.anybody(), token, amount))
}

function distribute(draft: TransactionDraft): void {
  draft.add(logOf.distribution(draft.contracts.distributor, rewardOf(draft), draft.amount()))
}

function rewardOf({ chance, contracts }: TransactionDraft): Address {
  const { grave, crypt, usdc, weth } = contracts
  return chance.pick([grave, crypt, usdc, weth])
}

function pay(draft: TransactionDraft, amount: bigint): void {
  const { usdc } = addresses.base
  draft.add(logOf.transfer(usdc, draft.somebody(), accounts.payTo, amount))
}

function flashMint(draft: TransactionDraft): void {
  const who = draft.somebody()
  const { chance } = draft
  const amount = chance.pick([U256_MAX, U256_MAX, U256_MAX - 1n, 2n ** 255n, 2n ** 128n])
  draft.mint(who, amount)
  const other = draft.somebody()
  if (chance.happens(0.3)) draft.move(who, other, amount)
  if (chance.happens(0.2)) draft.mint(who, draft.amount())
  if (draft.balance(who) < amount) draft.move(other, who, amount)
  draft.burn(who, amount)
}

/** Mints 100 and burns another amount, which the holder has of before. */
function mintThenBurn(draft: TransactionDraft, burned: bigint): void {
  const who = draft.holder()
  const unit = draft.unit()
  if (draft.balance(who) < 3n * unit) {
    draft.mint(who, 500n * unit)
    return
  }
  draft.mint(who, 100n * unit)
  draft.burn(who, burned * unit)
}

/** Few sizes, so that burns often equal what was minted. */
function mintsThenBurns(draft: TransactionDraft): void {
  const { chance } = draft
  const [one, other] = [draft.somebody(), draft.holder()]
  const unit = draft.unit()
  const size = () => BigInt(chance.pick([1, 1, 2, 3, 5, 100])) * unit
  for (let mints = chance.integer(1, 3); mints > 0; mints -= 1)
    draft.mint(chance.pick([one, one, other]), size())
  for (let burns = chance.integer(1, 4); burns > 0; burns -= 1) {
    const who = chance.pick([one, one, other])
    const amount = size()
    if (draft.balance(who) >= amount) draft.burn(who, amount)
    if (chance.happens(0.2)) draft.mint(who, size())
  }
}

/** Burns half of what a uint256 holds, once somebody has it. */
function halfBurn(draft: TransactionDraft): void {
  const who = draft.holder()
  const half = U256_MAX / 2n
  if (draft.balance(who) < half) draft.mint(who, half)
  else if (draft.chance.happens(0.3)) draft.move(who, burnAddress, half)
  else draft.burn(who, half)
}

function selfTransfer(draft: TransactionDraft): void {
  const who = draft.holder()
  draft.move(who, who, draft.share(who) || 1n)
}

function nothing(draft: TransactionDraft): void {
  const { chance } = draft
  const who = draft.somebody()
  chance.pick([
    () => draft.mint(who, 0n),
    () => draft.burn(who, 0n),
    () => draft.move(zeroAddress, zeroAddress, 0n),
    () => draft.move(who, burnAddress, 0n),
    () => draft.move(who, draft.somebody(), 0n),
    () => draft.move(payer, who, 0n),
    () => claim(draft, 0n),
    () => pay(draft, 0n),
  ])()
}

function toBurnAddress(draft: TransactionDraft): void {
  const { chance } = draft
  const from = chance.happens(0.2) ? burnAddress : draft.holder()
  const amount = draft.share(from)
  if (amount === 0n) draft.mint(from, draft.amount())
  else if (from !== burnAddress) draft.move(from, burnAddress, amount)
  else draft.move(from, chance.pick<Address>([zeroAddress, burnAddress, draft.somebody()]), amount)
}

/** A holder sends more than it ever received: the token moves balances without events. */
function overdraw(draft: TransactionDraft): void {
  const who = draft.somebody()
  const held = draft.balance(who)
  const amount = least((held > 0n ? held : 0n) + draft.amount(), U256_MAX)
  const to = draft.chance.pick<Address>([zeroAddress, burnAddress, draft.somebody()])
  draft.move(who, to, amount)
}

function unlisted(draft: TransactionDraft): void {
  const { chance } = draft
  const amount = chance.pick([0n, draft.amount(), U256_MAX])
  if (chance.happens(0.7)) claim(draft, amount, accounts.poor)
  else draft.add(logOf.distribution(draft.contracts.distributor, accounts.poor, amount))
}

/** The same event as a transfer by its first topic, in a form that does not fit the file. */
function dialect(draft: TransactionDraft): void {
  const { chance, contracts } = draft
  const write = chance.pick([unindexedTransfer, indexedTransfer])
  const [from, to] = [chance.pick([zeroAddress, draft.somebody()]), draft.somebody()]
  if (draft.chain === 'base' && chance.happens(0.3)) {
    const paid = { token: contracts.usdc, from, to: accounts.payTo, amount: 5n }
    draft.add(indexedTransfer(paid))
    return
  }
  const amount = draft.amount()
  draft.add(write({ token: draft.token, from, to: chance.pick([zeroAddress, to]), amount }))
}

/** A plain transfer of the payer, which its mapping counts, to a holder or out of circulation. */
function payOut(draft: TransactionDraft): void {
  const { chance, contracts } = draft
  if (chance.happens(0.3)) {
    const to = chance.pick([accounts.payTo, draft.somebody()])
    draft.add(logOf.transfer(contracts.usdc, payer, to, draft.amount()))
    return
  }
  const amount = draft.share(payer, contracts.grave)
  const receivers = [zeroAddress, burnAddress, accounts.treasury, draft.somebody()] as const
  const to = chance.pick<Address>(receivers)
  if (amount > 0n) draft.move(payer, to, amount, contracts.grave)
  else draft.move(zeroAddress, payer, draft.amount(), contracts.grave)
}
