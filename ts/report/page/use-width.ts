import { useEffect, useState } from 'preact/hooks'

/** The width of an element, in CSS pixels, as it is now; 0 before it is laid out. */
export function useWidth(place: { readonly current: Element | null }): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const element = place.current as Element
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [place])
  return width
}
