import assert from 'node:assert/strict'
import { keyAccount } from '#accounts/ledger/account.ts'
import { lockBalance } from '#accounts/ledger/balance.ts'
import { post } from '#accounts/ledger/post.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Connection } from '#store/engine.ts'

/** Moves the balance to another key of the wallet, and returns the amount. */
export async function moveWholeBalance(
  connection: Connection,
  input: {
    readonly id: string
    readonly from: string
    readonly to: string
    readonly nowUnix: number
  },
): Promise<MicroUsd> {
  // Locked in name order, so that two moves cannot deadlock.
  const [from, to] = [keyAccount(input.from), keyAccount(input.to)]
  const locked = new Map<string, MicroUsd>()
  for (const account of [from, to].sort())
    locked.set(account, await lockBalance(connection, account))
  const amount = locked.get(from) ?? 0n
  if (amount === 0n) return 0n
  const outcome = await post(connection, {
    id: `move:${input.id}`,
    kind: 'move',
    reference: input.from,
    createdUnix: input.nowUnix,
    postings: [
      { account: from, microUsd: -amount },
      { account: to, microUsd: amount },
    ],
  })
  assert(outcome === 'created', `a move of a locked balance ended ${outcome}`)
  return amount
}
