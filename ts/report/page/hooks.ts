import { useEffect, useRef, useState } from 'preact/hooks'

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

/** The time, again each second while something runs. */
export function useNow(isRunning: boolean): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!isRunning) return undefined
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [isRunning])
  return now
}

/** A wheel that is taken must be listened to as such; the listener of a component cannot say so. */
export function useWheel(canvas: { current: HTMLCanvasElement | null }, listener: (event: WheelEvent) => void): void {
  const latest = useRef(listener)
  latest.current = listener
  useEffect(() => {
    const element = canvas.current
    const listen = (event: WheelEvent): void => latest.current(event)
    element?.addEventListener('wheel', listen, { passive: false })
    return () => element?.removeEventListener('wheel', listen)
  }, [canvas])
}
