import { toUsd } from '#domain/money.ts'
import { keyAccount } from '#ledger/account.ts'
import { readBalances } from '#ledger/balance.ts'
import type { Engine } from '#store/engine.ts'
import type { KeyedCaller } from './charge-event.ts'
import type { WebhookEvent } from './send-event.ts'
import type { Webhook } from './webhook.ts'

/** A free event, once until the balance is above again. */
export async function lowBalanceEvent(
  accounts: Engine,
  { id, lowUnix, isLowTold }: Webhook,
  { publicId, limits }: KeyedCaller,
): Promise<WebhookEvent | undefined> {
  const limit = limits?.lowBalanceMicroUsd
  if (lowUnix === null || isLowTold || limit === undefined) return undefined
  const account = keyAccount(publicId)
  const balances = await accounts.snapshot((reads) => readBalances(reads, [account]))
  const data = JSON.stringify({
    publicId,
    prepaidBalanceUsd: toUsd(balances.get(account) ?? 0n),
    lowBalanceUsd: toUsd(limit),
  })
  return { id: `${id}-low-${lowUnix}`, type: 'balance.low', unix: lowUnix, data }
}
