import type { CodeStallError } from '#chains/ecosystem/mapping-code/module-realm.ts'

/** The code of a dataset stalls: its logs can neither be counted nor skipped. */
export class StalledDatasetError extends Error {
  override readonly name = 'StalledDatasetError'
  readonly dataset: string

  constructor(dataset: string, cause: CodeStallError) {
    super(cause.message, { cause })
    this.dataset = dataset
  }
}
