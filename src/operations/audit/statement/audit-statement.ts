import { existsSync } from 'node:fs'
import type { Logger } from 'pino'
import { findKey } from '#callers/keys/key-store.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { keyAccount } from '#ledger/account.ts'
import { openSources } from '#main/roles/index-role.ts'
import type { Settings } from '#main/settings.ts'
import { storeFile } from '#main/store-file.ts'
import { readCredits } from '#money/payments/credit.ts'
import { readOpenDay } from '#money/statements/read-entries.ts'
import { writeStatement } from '#money/statements/write-statement.ts'
import { onAccounts } from '#operations/upkeep/open-accounts.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { type Claimed, checkArithmetic, claimedBy } from './check-rows.ts'
import { compareRows } from './compare-rows.ts'
import { findMissingTransfers } from './prove-transfers.ts'
import { readStatementFile, type TextRow, toTextRows } from './read-statement-file.ts'

export interface StatementAudit {
  readonly settings: Pick<Settings, 'dataFolder' | 'database'>
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn'>
  /** Asked for where there are accounts to compare with. */
  ecosystem(): Promise<Ecosystem>
  note(line: string): void
}

/** Returns every difference in words. */
export async function auditStatement(
  deps: StatementAudit,
  { text, jwks }: { readonly text: string; readonly jwks: unknown },
): Promise<readonly string[]> {
  const file = await readStatementFile(text, jwks)
  if (typeof file === 'string') return [file]
  deps.note(`signed by the key ${file.kid}`)
  const rows = toTextRows(file.statement)
  const claimed = claimedBy(rows)
  if (typeof claimed === 'string') return [claimed]
  const wrong = checkArithmetic(rows)
  if (wrong.length === 0) deps.note('the opening balance and all movements are the closing balance')
  const { database, dataFolder } = deps.settings
  if (database.kind === 'sqlite' && !existsSync(storeFile(dataFolder, 'accounts'))) {
    deps.note(`not compared with the ledger and the chain: no accounts in ${dataFolder}`)
    return wrong
  }
  return [...wrong, ...(await compareWithStores(deps, rows, claimed))]
}

async function compareWithStores(
  deps: StatementAudit,
  rows: readonly TextRow[],
  claimed: Claimed,
): Promise<readonly string[]> {
  const ecosystem = await deps.ecosystem()
  return onAccounts(deps.settings, async (engine) => {
    const { differences, notes } = await compareWithLedger(engine, ecosystem, { rows, claimed })
    if (differences.length === 0) deps.note('the statement is what the ledger says')
    for (const each of notes) deps.note(each)
    return [...differences, ...(await checkTransfers(deps, engine, { rows, ecosystem }))]
  })
}

async function compareWithLedger(
  engine: Engine,
  { service, payment }: Ecosystem,
  { rows, claimed }: { readonly rows: readonly TextRow[]; readonly claimed: Claimed },
) {
  const { publicId, to } = claimed
  const reads = { run: engine.read }
  const key = await findKey(reads, publicId)
  if (key === undefined) return { differences: [`no key has the publicId ${publicId}`], notes: [] }
  const open = await readOpenDay(reads, { account: keyAccount(publicId), to })
  const statement =
    open === undefined
      ? await writeStatement({ reads, issuer: { ...service, payment } }, { ...claimed, key })
      : undefined
  if (statement === undefined)
    return { differences: ['its period is not closed, or has too many movements'], notes: [] }
  return compareRows(rows, toTextRows(statement))
}

async function checkTransfers(
  deps: StatementAudit,
  engine: Engine,
  { rows, ecosystem }: { readonly rows: readonly TextRow[]; readonly ecosystem: Ecosystem },
): Promise<readonly string[]> {
  const { payment } = ecosystem
  if (payment === null) return []
  const source = openSources(ecosystem, deps.logger).get(payment.chain.id)
  if (source === undefined) return []
  const missing = await findMissingTransfers(source, payment, rows)
  if (missing.length === 0) deps.note(`every credit is a transfer on ${payment.chain.name}`)
  const wrong: string[] = []
  for (const { id = '', txHash, blockNumber } of missing) {
    const [later] = await readCredits(
      { run: engine.read },
      sql`id = ${id.split(':')[1] ?? ''} and reversed_unix is not null`,
    )
    if (later === undefined)
      wrong.push(
        `${id}: block ${blockNumber} of ${payment.chain.name} has no such transfer in ${txHash}`,
      )
    else deps.note(`${id}: a reorg took its transfer after the period; a later entry reverses it`)
  }
  return wrong
}
