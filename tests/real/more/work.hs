-- SPDX-License-Identifier: MIT
-- Lists, threads of the runtime, C memory by alloca and mallocBytes.
import Control.Concurrent
import Control.Monad
import Foreign
main :: IO ()
main = do
  boxes <- forM [1 .. 8 :: Int] $ \n -> do
    box <- newEmptyMVar
    _ <- forkIO $ do
      p <- mallocBytes (8 * 1000 * n) :: IO (Ptr Int)
      forM_ [0 .. 999] $ \i -> pokeElemOff p i (i * n)
      s <- sum <$> peekArray 1000 p
      free p
      putMVar box s
    return box
  mapM_ (takeMVar >=> print) boxes
  print (sum (filter even (scanl (+) 0 [1 .. 200000 :: Integer])))
