import type { Logger } from 'pino'
import type { ProveDepositsDeps } from '#chains/datasets/deposits/proof/prove-deposits.ts'
import type { Chain, Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { CHAIN_PART, type PartChange } from '#chains/indexer/indexed-config/file-part.ts'

/** Logs what an edit of the ecosystem file leads to, a line for each part. */
export function reportReindex(
  { ecosystem, logger }: { readonly ecosystem: Ecosystem; readonly logger: Pick<Logger, 'info'> },
  changes: readonly PartChange[],
): void {
  for (const change of changes)
    logger.info(`${change.fields.join(', ')}: ${comesTo(change, ecosystem)}`)
}

function comesTo({ chainId, name }: PartChange, { chains }: Ecosystem): string {
  if (chainId === null) return `revaluing the events of ${name}`
  const chain = chains.find(({ id }) => id === chainId)
  if (chain === undefined) return `removing the data of chain ${chainId}`
  return name === CHAIN_PART
    ? `re-reading all of ${chain.name}`
    : `re-reading ${name} on ${chain.name}`
}

const OUTDATED =
  'the register was built from a newer ecosystem file than this process has; restart it to use its own file again'

/** Warns once that this process does not index. */
export function reportOutdated(logger: Pick<Logger, 'warn'>): () => void {
  let isReported = false
  return () => {
    if (!isReported) logger.warn(OUTDATED)
    isReported = true
  }
}

export function reportDeposit(
  logger: Pick<Logger, 'warn' | 'error'>,
  { name: chain }: Chain,
  { kind, ...facts }: Parameters<ProveDepositsDeps['report']>[0],
): void {
  if (kind === 'corrected') logger.error({ chain, ...facts }, 'deposits were corrected')
  else logger.warn({ chain, ...facts }, 'a deposit is waiting for a proof')
}

export function reportLead(logger: Pick<Logger, 'info'>): (held: boolean) => void {
  let before: boolean | undefined
  return (held) => {
    if (held === before) return
    before = held
    logger.info(held ? 'this process indexes' : 'another process indexes; this one is a standby')
  }
}
