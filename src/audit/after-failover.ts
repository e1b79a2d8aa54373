import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DatedReceipt, parseReceipt } from '#access/receipts/receipt.ts'
import { RECEIPTS_FILE } from '#access/receipts/receipt-log.ts'
import { readDeposits } from '#datasets/deposits/queries.ts'
import { filePartsOf } from '#datasets/file-parts.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { Settings } from '#main/settings.ts'
import { openStores } from '#main/stores.ts'
import { lostCalls } from './lost-calls.ts'
import { lostKeys } from './lost-keys.ts'
import { lostPayments } from './lost-payments.ts'

export interface AfterFailoverInput {
  readonly settings: Pick<Settings, 'dataFolder' | 'register' | 'accounts' | 'newAccounts'>
  readonly ecosystem: Ecosystem
  /** Data folders of the replicas. */
  readonly folders: readonly string[]
  note(line: string): void
}

export class ReceiptsError extends Error {
  override readonly name = 'ReceiptsError'
}

/** Returns what callers were answered with and the accounts do not hold, in words. */
export async function auditAfterFailover(input: AfterFailoverInput): Promise<readonly string[]> {
  // Before the accounts: these hold what was answered since.
  const receipts = await readReceipts(input)
  const stores = await openStores(input.settings)
  try {
    const { payment } = input.ecosystem
    const reads = payment && {
      register: stores.register,
      payment,
      file: filePartsOf(input.ecosystem),
    }
    const deposits = {
      canonical: async (query: Parameters<typeof readDeposits>[1]) =>
        reads === null ? undefined : readDeposits(reads, query),
    }
    return await stores.accounts.snapshot(async (connection) => [
      ...(await lostKeys(connection, receipts)),
      ...(await lostPayments(connection, deposits, receipts)),
      ...(await lostCalls(connection, receipts)),
    ])
  } finally {
    await stores.close()
  }
}

export async function readReceipts({
  folders,
  note,
}: Pick<AfterFailoverInput, 'folders' | 'note'>): Promise<DatedReceipt[]> {
  const receipts: DatedReceipt[] = []
  for (const folder of folders) {
    const files = await readdir(folder).catch((cause: unknown) => {
      throw new ReceiptsError(`--after-failover: ${folder} cannot be read`, { cause })
    })
    const ours = files.filter((each) => RECEIPTS_FILE.test(each))
    if (ours.length === 0)
      throw new ReceiptsError(
        `--after-failover: ${folder} holds no receipts-*.log; name the data folders of the replicas that ran "sexton serve"`,
      )
    for (const file of ours)
      for (const line of (await readFile(join(folder, file), 'utf8')).split('\n')) {
        const receipt = parseReceipt(line)
        if (receipt !== undefined) receipts.push(receipt)
      }
    note(`${folder}: ${ours.length} files with receipts`)
  }
  const since = receipts.reduce((oldest, each) => Math.min(oldest, each.atUnix), Infinity)
  if (since < Infinity) note(`receipts since ${new Date(since * 1_000).toISOString()}`)
  return receipts
}
