import { accessChecks } from '#access/access-checks.ts'
import { verifyPayerProof } from '#access/payer-proof.ts'
import { readDeposits } from '#datasets/deposits/queries.ts'
import { toUsd } from '#domain/money.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { Check } from '#ledger/check.ts'
import { ledgerChecks } from '#ledger/ledger-checks.ts'
import { assert } from '#lib/assert.ts'
import type { DepositIndex } from '#payments/deposit.ts'
import { paymentsChecks, readSuspense } from '#payments/payments-checks.ts'
import type { Connection } from '#store/engine.ts'
import { auditRegister, type RegisterVerdict } from './audit-register.ts'
import { openSources } from './index-role.ts'
import { chosenEcosystem, type ExitCode, type RoleContext } from './role-context.ts'
import { openStores, type Stores } from './stores.ts'

/** Checks every promise of both stores once; 1 when any is broken. Changes nothing. */
export async function runAudit(context: RoleContext): Promise<ExitCode> {
  const ecosystem = await chosenEcosystem(context.settings)
  const stores = await openStores(context.settings)
  try {
    const accounts = await auditAccounts(context, ecosystem, stores)
    const register = await auditChains(context, ecosystem, stores)
    return accounts && register ? 0 : 1
  } finally {
    context.progress.finish()
    await stores.close()
  }
}

/** The promises about keys, usage and money, all of one state of the store. */
function auditAccounts(
  { clock, say }: RoleContext,
  ecosystem: Ecosystem,
  { accounts, register }: Stores,
): Promise<boolean> {
  const { payment, service } = ecosystem
  const deposits: DepositIndex = {
    canonical: (query) => readDeposits({ register, payment }, query),
  }
  const proofDeps = { serviceName: service.name, clock }
  const checks = [
    ...ledgerChecks,
    ...accessChecks,
    ...paymentsChecks({
      deposits,
      verifyPayerProof: (proof) => verifyPayerProof(proofDeps, proof),
    }),
  ]
  return accounts.snapshot(async (connection) => {
    let good = true
    for (const check of checks) good = (await runCheck(say, connection, check)) && good
    const suspense = await readSuspense(connection, deposits)
    say(`note  ${suspense.deposits} unclaimed deposits, ${toUsd(suspense.microUsd)} USD`)
    return good
  })
}

async function runCheck(
  say: RoleContext['say'],
  connection: Connection,
  check: Check,
): Promise<boolean> {
  const differences = await check.run(connection)
  say(`${differences.length === 0 ? 'ok   ' : 'WRONG'} ${check.name}`)
  for (const { subject, detail } of differences) say(`        ${subject}: ${detail}`)
  return differences.length === 0
}

/** The figures of the register against the chains themselves. */
async function auditChains(
  { clock, logger, progress, say }: RoleContext,
  ecosystem: Ecosystem,
  { register }: Stores,
): Promise<boolean> {
  const sources = openSources(ecosystem, logger)
  const verdict = await auditRegister({
    ecosystem,
    register,
    clock,
    sourceOf(chain) {
      const source = sources.get(chain.id)
      assert(source !== undefined, `chain ${chain.name} has no source`)
      return source
    },
    onProgress: ({ chain, done, total }) => progress.update(`reading ${chain}`, done, total),
    note: (line) => say(`ok    ${line}`),
  })
  progress.finish()
  say(inWords(verdict))
  return verdict.kind === 'agrees' || verdict.kind === 'empty'
}

function inWords(verdict: RegisterVerdict): string {
  if (verdict.kind === 'agrees') return 'ok    the register agrees with the chains'
  if (verdict.kind === 'empty') return 'note  the register is empty: nothing is indexed yet'
  if (verdict.kind === 'moved')
    return `WRONG ${verdict.chain} moved away from the indexed blocks meanwhile; audit again`
  return `WRONG ${verdict.difference}`
}
