import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import {
  CHAIN_PART,
  type FilePart,
  type FileParts,
  toFileParts,
} from '#chains/indexer/indexed-config/file-part.ts'
import { type IndexStatus, readIndexStatus } from '#chains/indexer/status.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#store/engine.ts'
import { allDatasets } from './datasets.ts'
import { valuedBy } from './prices/price-book.ts'

const known = new WeakMap<Ecosystem, FileParts>()

/** Returns the parts keyed by chain and dataset; those behind dollar values, by token. */
export function filePartsOf(ecosystem: Ecosystem): FileParts {
  const parts = known.get(ecosystem) ?? readParts(ecosystem)
  known.set(ecosystem, parts)
  return parts
}

/** How far the register is, and where it follows another file. */
export function readStatus(
  { ecosystem }: Pick<Context, 'ecosystem'>,
  connection: Connection,
): Promise<IndexStatus | undefined> {
  return readIndexStatus(connection, ecosystem.chains, filePartsOf(ecosystem))
}

function readParts(ecosystem: Ecosystem): FileParts {
  const { chains, tokens } = ecosystem
  const datasets = allDatasets(ecosystem)
  const ofChains = chains.flatMap((chain, index): readonly FilePart[] => {
    const { id: chainId, startBlock } = chain
    const parts = datasets.map(({ name, builtFrom }) => ({
      chainId,
      name,
      entries: builtFrom(chainId),
    }))
    const entries = [{ field: `chains[${index}]`, facts: { startBlock } }]
    const own = { chainId, name: CHAIN_PART, entries }
    return [own, ...parts.filter((part) => part.entries.length > 0)]
  })
  const values = tokens.map((token, index): FilePart => {
    const facts = { decimals: token.decimals, price: valuedBy(token, tokens) }
    return { chainId: null, name: token.symbol, entries: [{ field: `tokens[${index}]`, facts }] }
  })
  return toFileParts([...ofChains, ...values])
}
