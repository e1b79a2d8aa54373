import { useState } from 'preact/hooks'
import { sexton } from '../state/session.ts'
import { save } from './download.ts'

export interface CsvFile {
  readonly name: string
  readonly path: string
  readonly query: object
}

/** Saves answers of the API as CSV files; each is a call of the person. */
export function useCsv() {
  const [failure, setFailure] = useState<unknown>()
  const saveCsv = async ({ name, path, query }: CsvFile) => {
    setFailure(undefined)
    try {
      const { data } = await sexton().call<string>('GET', path, { ...query, format: 'csv' })
      save(new Blob([data], { type: 'text/csv' }), `${name}.csv`)
    } catch (error) {
      setFailure(error)
    }
  }
  return { failure, saveCsv }
}
