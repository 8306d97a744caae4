// SPDX-License-Identifier: MIT
// Collections, threads, direct buffers (malloc), zip streams (zlib by malloc).
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.*;

public class Work {
	public static void main(String[] arguments) throws Exception {
		Map<String, Integer> map = new TreeMap<>();
		for (int i = 0; i < 50000; i++)
			map.merge("key" + i * 7919L % 10007, 1, Integer::sum);
		System.out.println(map.size() + " " + map.values().stream().mapToInt(x -> x).max().getAsInt());
		ExecutorService pool = Executors.newFixedThreadPool(4);
		List<Future<Integer>> sums = new ArrayList<>();
		for (int n = 0; n < 16; n++) {
			final int part = n;
			sums.add(pool.submit(() -> {
				ByteBuffer buffer = ByteBuffer.allocateDirect(100000 + part);
				int sum = 0;
				for (int i = 0; i < buffer.capacity(); i++)
					buffer.put(i, (byte) (i * part));
				for (int i = 0; i < buffer.capacity(); i++)
					sum += buffer.get(i);
				return sum;
			}));
		}
		for (Future<Integer> sum : sums)
			System.out.println(sum.get());
		pool.shutdown();
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		try (GZIPOutputStream zip = new GZIPOutputStream(bytes)) {
			for (String key : map.keySet())
				zip.write(key.getBytes());
		}
		System.out.println(bytes.size());
	}
}
