import type { ChainStatus } from 'sexton-client'
import { joinWords } from '#base/text.ts'
import { cards } from '#data/cards.ts'
import { useWords } from '../parts/file-context.ts'
import { count } from '../parts/format.ts'
import { texts } from '../texts.ts'

const NOUNS = joinWords(
  cards.map(({ noun }) => noun),
  'or',
)

/** Ruled lines where entries will be. */
export function Empty({ blocks }: { readonly blocks: readonly ChainStatus[] }) {
  const read = blocks
    .map(({ chain, blockNumber }) => texts.headline.block(`0 to ${count(blockNumber)}`, chain))
    .join(', ')
  return (
    <section class="row" aria-labelledby="empty">
      <div class="margin" />
      <div class="body">
        <div class="lines" aria-hidden="true" />
        <h2 id="empty">{texts.headline.empty}</h2>
        {read !== '' && <p class="quiet">{useWords()(texts.headline.emptyMore(read, NOUNS))}</p>}
      </div>
    </section>
  )
}
