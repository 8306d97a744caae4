// SPDX-License-Identifier: MIT
// Resident memory is known of the first process of a run alone, while what is live is of all that are
// shown: what the two have to do with each other, for all who show them side by side. Pure: no DOM.

// {points, pid, name, relation}, or null where nothing is known. `relation` to what is shown: 'same'
// process; 'part' of what the process holds (a filter); 'more': other processes are shown, too; 'other':
// only others.
export function resident_of(profile, view) {
  const { head } = profile;
  if (!head.resident || head.resident.length === 0) return null;
  const pid = head.resident_pid ?? head.pid;
  const { process, thread } = view.filters;
  const shown = process ?? (thread == null ? null : profile.process_of_thread(thread));
  const pids = shown === null ? head.processes.slice(1).map((p) => p[1]) : [head.processes[shown]?.[1]];
  const number = head.processes.findIndex((p, i) => i > 0 && p[1] === pid);
  const resident = { points: head.resident, pid, name: number < 0 ? 'pid ' + pid : profile.process_name(number) };
  const filtered = profile.has_filter({ filters: { ...view.filters, process: null } });
  resident.relation = !pids.includes(pid) ? 'other' : pids.some((p) => p !== pid) ? 'more' : filtered ? 'part' : 'same';
  return resident;
}

// Which of several times is nearest; times ascend.
export function nearest(times, t) {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low > 0 && t - times[low - 1] <= times[low] - t ? low - 1 : low;
}
