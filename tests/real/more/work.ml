(* SPDX-License-Identifier: MIT *)
(* Maps, exceptions, big strings, a compaction. *)
module M = Map.Make (String)
let () =
  let add m i = M.add (Printf.sprintf "key%d" (i * 7919 mod 10007)) (String.make (i mod 60) 'x') m in
  let m = List.fold_left add M.empty (List.init 20000 Fun.id) in
  Printf.printf "%d\n" (M.cardinal m);
  let total = ref 0 in
  M.iter (fun _ v -> try if v = "" then raise Not_found else total := !total + String.length v with Not_found -> incr total) m;
  Printf.printf "%d\n" !total;
  let b = Buffer.create 16 in
  for i = 1 to 100000 do Buffer.add_string b (string_of_int i) done;
  Gc.compact ();
  Printf.printf "%d %s\n" (Buffer.length b) (Digest.to_hex (Digest.string (Buffer.contents b)))
