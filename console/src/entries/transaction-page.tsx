import { entriesTexts } from '../entries-texts.ts'
import { Copy } from '../parts/copy.tsx'
import { count } from '../parts/format.ts'
import { EntryTable, FinalityKey } from '../register/entries.tsx'
import type { Snapshot } from '../state/types.ts'
import { texts } from '../texts.ts'

const t = entriesTexts.transaction

/** The entries of one transaction. They are in the page: opening it is no call. */
export function TransactionPage(props: { readonly hash: string; readonly snapshot: Snapshot }) {
  const { hash, snapshot } = props
  const { transaction: rows = null, figures } = snapshot
  const blocks = figures?.meta.chains.map(({ chain, blockNumber }) =>
    texts.headline.block(count(blockNumber), chain),
  )
  return (
    <section class="row top" aria-labelledby="transaction">
      <div class="margin">
        <h1 id="transaction">{t.title}</h1>
        <FinalityKey />
      </div>
      <div class="body stack">
        <p>
          <span class="addr">{hash}</span> <Copy text={hash} label={t.copy} of="" />
        </p>
        {rows !== null && rows.length > 0 ? (
          <EntryTable rows={rows} chains={snapshot.service.chains} hasWho isByDay />
        ) : (
          <p class="quiet">{rows === null ? t.away : t.none(blocks?.join(', ') ?? '')}</p>
        )}
      </div>
    </section>
  )
}
