/** Whether a test runs in `npm run test:long`, with all that it leaves out of `npm test`. */
export const isLongVersion = process.env.TEST_LONG === 'yes'

/** One engine is enough where the store is not what is tested; the long version runs both. */
export const eitherEngine: readonly ('SQLite' | 'PostgreSQL')[] = isLongVersion
  ? ['SQLite', 'PostgreSQL']
  : ['SQLite']
