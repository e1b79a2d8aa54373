import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** A component that is loaded when it is first shown. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  return function Lazy(props: Props) {
    const [Loaded, setLoaded] = useState<ComponentType<Props>>()
    useEffect(() => {
      load().then((component) => setLoaded(() => component))
    }, [])
    return Loaded === undefined ? null : <Loaded {...props} />
  }
}
