import { STORE_EVENTS } from '#indexer/events/store-events.ts'
import { serveWriter } from '#store/sqlite/serve-writer.ts'

/** The writer thread of a register on SQLite. */
serveWriter([STORE_EVENTS])
