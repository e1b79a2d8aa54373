import { findKey } from '#accounts/keys/key-store.ts'
import { keyAccount, keyOfAccount, receivableAccount } from '#accounts/ledger/account.ts'
import { type Check, DIFFERENCES_MAX, type LedgerDifference } from '#accounts/ledger/check.ts'
import type { Address } from '#domain/address.ts'
import type { CanonicalDeposits, Deposit } from '#domain/deposit.ts'
import type { Connection } from '#store/engine.ts'
import { column, type Row, type Sql, sql } from '#store/sql.ts'
import { type Credit, liveCreditsOf, readCredits } from './credit.ts'
import type { BlockHashAt, DepositIndex } from './deposit.ts'
import type { VerifyPayerProof } from './payments-deps.ts'
import { logName } from './suspense.ts'

export interface CreditCheckDeps {
  readonly deposits: DepositIndex
  readonly verifyPayerProof: VerifyPayerProof
  readonly chainId: number | null
  readonly blockHash: BlockHashAt
  note(line: string): void
}

type WalletOf = (connection: Connection, publicId: string) => Promise<Address | undefined>

export function creditChecks(deps: CreditCheckDeps): readonly Check[] {
  return [
    canonicalCheck(deps),
    payersCheck(deps),
    pagedCheck('a credit of a claim is on a key of the wallet that owns the claimed key', (page) =>
      checkAccounts(page, rememberedWallets()),
    ),
    pagedCheck('a credit and its reversal move money of keys of its wallet only', (page) =>
      checkMoved(page, rememberedWallets()),
    ),
  ]
}

function rememberedWallets(): WalletOf {
  const known = new Map<string, Promise<Address | undefined>>()
  return (connection, publicId) => {
    const wallet = known.get(publicId) ?? walletOf(connection, publicId)
    known.set(publicId, wallet)
    return wallet
  }
}

async function walletOf(connection: Connection, publicId: string): Promise<Address | undefined> {
  return (await findKey(connection, publicId))?.wallet
}

interface Page {
  readonly connection: Connection
  readonly chosen: Sql
}

function pagedCheck(
  name: string,
  check: (page: Page) => Promise<readonly LedgerDifference[]>,
): Check {
  return {
    name,
    async run(connection) {
      const differences: LedgerDifference[] = []
      for await (const chosen of creditPages(connection)) {
        differences.push(...(await check({ connection, chosen })))
        if (differences.length >= DIFFERENCES_MAX) break
      }
      return differences.slice(0, DIFFERENCES_MAX)
    },
  }
}

const PAGE_CREDITS = 500

async function* creditPages(connection: Connection): AsyncIterable<Sql> {
  let after = ''
  for (;;) {
    const [row] = await connection.run(sql`
      select max(id) as last from (
        select id from credits where id > ${after} order by id limit ${PAGE_CREDITS}) as page`)
    const last = row === undefined ? null : column.textOrNull(row, 'last')
    if (last === null) return
    yield sql`credits.id > ${after} and credits.id <= ${last}`
    after = last
  }
}

interface Unjudged {
  readonly pending: Credit[]
  readonly uncovered: Credit[]
}

function canonicalCheck(deps: CreditCheckDeps): Check {
  const name = 'each live credit is one canonical deposit of the same sum and sender'
  return {
    name,
    async run(connection) {
      const unjudged: Unjudged = { pending: [], uncovered: [] }
      const paged = pagedCheck(name, (page) => checkCanonical(page, deps, unjudged))
      const differences = await paged.run(connection)
      noteUnjudged(deps, unjudged)
      return differences
    },
  }
}

function noteUnjudged({ note }: CreditCheckDeps, { pending, uncovered }: Unjudged): void {
  const namesOf = (credits: readonly Credit[]) => credits.map(({ id }) => id).join(', ')
  if (pending.length > 0)
    note(
      `${pending.length} credits cannot be checked before history is read: ${namesOf(pending.slice(0, NAMED_MAX))}`,
    )
  if (uncovered.length > 0)
    note(
      `${uncovered.length} credits belong to payments that the ecosystem file no longer covers: ${namesOf(uncovered.slice(0, NAMED_MAX))}`,
    )
}

const NAMED_MAX = 50

async function checkCanonical(
  { connection, chosen }: Page,
  { deposits, chainId, blockHash }: CreditCheckDeps,
  { pending, uncovered }: Unjudged,
): Promise<LedgerDifference[]> {
  const live = await readCredits(connection, sql`${chosen} and reversed_unix is null`)
  const txHashes = [...new Set(live.map((credit) => credit.txHash))]
  const known = await deposits.canonical({ txHashes })
  const stands = async (credit: Credit) =>
    (await blockHash(credit.blockNumber)) === credit.blockHash
  const credited = new Set((await liveCreditsOf(connection, txHashes)).map(logName))
  const free = known?.deposits.filter((deposit) => !credited.has(logName(deposit))) ?? []
  // Logs identify deposits here: positions count covered transfers only, so editing `payTo` shifts them.
  const byLog = new Map(known?.deposits.map((deposit) => [logName(deposit), deposit]))
  const found: LedgerDifference[] = []
  for (const credit of live) {
    const deposit = byLog.get(logName(credit))
    const isElsewhere = credit.chainId !== chainId
    if (isElsewhere) uncovered.push(credit)
    else if (known === undefined || !isInReach(credit, known)) pending.push(credit)
    else if (deposit === undefined && !isShown(credit, free) && (await stands(credit)))
      uncovered.push(credit)
    else found.push(...compare(credit, deposit))
    if (found.length >= DIFFERENCES_MAX) break
  }
  return found
}

/** Whether an uncredited deposit shows the transfer under another log. */
function isShown(credit: Credit, free: readonly Deposit[]): boolean {
  return free.some(
    ({ txHash, from, amount }) =>
      txHash === credit.txHash && from === credit.payerAddress && amount === credit.microUsd,
  )
}

/** Blocks outside the indexed range are unknown. */
function isInReach(credit: Credit, known: CanonicalDeposits): boolean {
  return credit.blockNumber >= known.completeFromBlock && credit.blockNumber <= known.head.number
}

function compare(credit: Credit, deposit: Deposit | undefined): readonly LedgerDifference[] {
  const subject = credit.id
  const name = logName(credit)
  if (deposit === undefined)
    return [
      { subject, detail: `no canonical log ${name}, and its block is not confirmed as canonical` },
    ]
  if (deposit.amount !== credit.microUsd)
    return [{ subject, detail: `credited ${credit.microUsd}, but the log has ${deposit.amount}` }]
  if (deposit.from !== credit.payerAddress)
    return [
      {
        subject,
        detail: `credited as paid by ${credit.payerAddress}, but the log has ${deposit.from}`,
      },
    ]
  return []
}

function payersCheck(deps: CreditCheckDeps): Check {
  const name = 'each credit of a claim was paid by the owner of its key or a payer who signed'
  return {
    name,
    async run(connection) {
      const byContract: string[] = []
      const asking = { ...deps, walletOf: rememberedWallets(), byContract }
      const paged = pagedCheck(name, (page) => checkPayers(page, asking))
      const differences = await paged.run(connection)
      if (byContract.length > 0)
        deps.note(
          `${byContract.length} credits rest on proofs of contract wallets that cannot be asked again: ${byContract.slice(0, NAMED_MAX).join(', ')}`,
        )
      return differences
    },
  }
}

interface PayersDeps extends Pick<CreditCheckDeps, 'verifyPayerProof'> {
  readonly walletOf: WalletOf
  readonly byContract: string[]
}

async function checkPayers(
  { connection, chosen }: Page,
  deps: PayersDeps,
): Promise<LedgerDifference[]> {
  const paid = await connection.run(sql`
    select credits.id, credits.chain_id, credits.tx_hash, credits.payer_address, claims.public_id,
      claim_proofs.message, claim_proofs.signature, claim_proofs.by_contract
    from credits join claims on claims.id = credits.claim_id
      left join claim_proofs on claim_proofs.claim_id = claims.id
        and claim_proofs.payer_address = credits.payer_address
    where ${chosen} order by credits.id`)
  const differences: LedgerDifference[] = []
  for (const row of paid)
    if (!(await isPaidRightly(connection, deps, row)))
      differences.push({
        subject: column.text(row, 'id'),
        detail: `paid by ${column.text(row, 'payer_address')} without a valid proof`,
      })
  return differences
}

async function isPaidRightly(connection: Connection, deps: PayersDeps, row: Row): Promise<boolean> {
  const payerAddress = column.hex(row, 'payer_address')
  const publicId = column.text(row, 'public_id')
  if ((await deps.walletOf(connection, publicId)) === payerAddress) return true
  const message = column.textOrNull(row, 'message')
  if (message === null) return false
  const byContract = column.integer(row, 'by_contract') === 1
  if (byContract) deps.byContract.push(column.text(row, 'id'))
  const refusal = await deps.verifyPayerProof({
    payerAddress,
    chainId: column.integer(row, 'chain_id'),
    txHash: column.hex(row, 'tx_hash'),
    publicId,
    message,
    signature: column.text(row, 'signature'),
    byContract,
    freshness: 'ignored',
  })
  return refusal === undefined
}

/** Returns the claimed key, or its successor if rotated before the credit. */
async function checkAccounts(
  { connection, chosen }: Page,
  walletOf: WalletOf,
): Promise<LedgerDifference[]> {
  const found = await connection.run(sql`
    select credits.id, credits.account, credits.owner, credits.tx_hash,
      claims.public_id, claims.tx_hash as claimed_tx
    from credits join claims on claims.id = credits.claim_id
    where ${chosen} order by credits.id`)
  const differences: LedgerDifference[] = []
  for (const row of found) {
    const account = column.text(row, 'account')
    const wallet = await walletOf(connection, column.text(row, 'public_id'))
    const holds = await walletOf(connection, account.slice(keyAccount('').length))
    const agrees =
      wallet !== undefined &&
      wallet === holds &&
      wallet === column.hex(row, 'owner') &&
      column.hex(row, 'tx_hash') === column.hex(row, 'claimed_tx')
    if (!agrees)
      differences.push({
        subject: column.text(row, 'id'),
        detail: `on ${account} of ${holds}, claimed for a key of ${wallet}`,
      })
  }
  return differences
}

/** A deposit credited again returns to the keys that its reversal debited. */
async function checkMoved(
  { connection, chosen }: Page,
  walletOf: WalletOf,
): Promise<LedgerDifference[]> {
  const found = await connection.run(sql`
    select distinct credits.owner, postings.account, postings.entry_id
    from credits join postings
      on postings.entry_id in ('credit:' || credits.id, 'reversal:' || credits.id)
        and postings.account not like 'chain_in:%' and postings.account <> credits.account
    where ${chosen} order by postings.entry_id, postings.account`)
  const differences: LedgerDifference[] = []
  for (const row of found) {
    const [owner, account] = [column.text(row, 'owner'), column.text(row, 'account')]
    const publicId = keyOfAccount(account)
    const isOwn =
      publicId === undefined
        ? account === receivableAccount(owner)
        : (await walletOf(connection, publicId)) === owner
    if (!isOwn)
      differences.push({
        subject: column.text(row, 'entry_id'),
        detail: `moves money of ${account}, which does not belong to ${owner}`,
      })
  }
  return differences
}
