import type { BlockTag, ChainSource } from '#chains/chain/chain-source.ts'
import { asksToSlowDown, EndpointError } from '#chains/chain/rpc-error.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { ProofError } from './proof-error.ts'

const DEPTH_TO_WRITE = 256

/** The node must support the tags, if `finality` is `tag`. */
export async function proveFinality(
  { name, finality }: Chain,
  field: string,
  source: ChainSource,
): Promise<void> {
  if (finality !== 'tag') return
  await proveTag('safe')
  if ((await proveTag('finalized')) === undefined)
    throw refusal('the node answers null for the block "finalized"')

  async function proveTag(tag: BlockTag) {
    return await source.header(tag).catch((error: unknown) => {
      const isOfTag = error instanceof EndpointError && !asksToSlowDown(error.kind)
      throw isOfTag ? refusal(`the node refuses the block "${tag}" (${error.message})`) : error
    })
  }

  function refusal(words: string): ProofError {
    return new ProofError(
      field,
      `is "tag", but ${words}; write the number of blocks after which a block of ${name} is final, such as ${DEPTH_TO_WRITE}`,
    )
  }
}
