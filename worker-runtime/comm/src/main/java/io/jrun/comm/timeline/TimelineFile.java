package io.jrun.comm.timeline;

import static io.jrun.comm.timeline.TimelineLayout.ATOMIC;
import static io.jrun.comm.timeline.TimelineLayout.ENTRY_BYTES;
import static io.jrun.comm.timeline.TimelineLayout.INT;
import static io.jrun.comm.timeline.TimelineLayout.LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * The timeline of a rank as read from its file, also while the rank writes it. Immutable.
 *
 * @param anchorNanos {@link System#nanoTime} of the rank's host at {@code anchorMillis}
 * @param anchorMillis wall clock of the rank's host, in milliseconds since 1970
 * @param entries in the order of their begins, as far as the file keeps them
 * @param lost number of older entries that later entries have replaced
 */
public record TimelineFile(
        int rank,
        int worldSize,
        int round,
        long pid,
        long anchorNanos,
        long anchorMillis,
        List<TimelineEntry> entries,
        long lost) {
    private static final TimelineEntry.Kind[] KINDS = TimelineEntry.Kind.values();
    private static final TimelineEntry.State[] STATES = TimelineEntry.State.values();

    public TimelineFile {
        entries = List.copyOf(entries);
    }

    private record Numbered(long ticket, TimelineEntry entry) {}

    /**
     * Reads a file.
     *
     * @throws IOException if the file does not exist or is no timeline that this version of jrun can read
     */
    public static TimelineFile read(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file);
                Arena arena = Arena.ofConfined()) {
            if (channel.size() < TimelineLayout.ENTRIES_AT) {
                throw new IOException(file + " is not a timeline");
            }
            MemorySegment memory = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            if ((long) ATOMIC.getAcquire(memory, 0L) != TimelineLayout.MAGIC) {
                throw new IOException(file + " is not a timeline");
            }
            int version = memory.get(INT, TimelineLayout.VERSION_AT);
            if (version != TimelineLayout.VERSION) {
                throw new IOException(
                        file + " has version " + version + " of the timeline, and this jrun reads version "
                                + TimelineLayout.VERSION + "; read it with the version of jrun that wrote it");
            }
            return read(memory);
        }
    }

    private static TimelineFile read(MemorySegment memory) {
        List<Numbered> found = new ArrayList<>();
        String[] names = new String[TimelineLayout.NAMES];
        long last = 0;
        for (long at = TimelineLayout.ENTRIES_AT; at + ENTRY_BYTES <= memory.byteSize(); at += ENTRY_BYTES) {
            long ticket = (long) ATOMIC.getAcquire(memory, at);
            Optional<TimelineEntry> entry = ticket > 0 ? entry(memory, at, names) : Optional.empty();
            VarHandle.acquireFence();
            if (entry.isPresent() && ticket == (long) ATOMIC.getOpaque(memory, at)) {
                found.add(new Numbered(ticket, entry.get()));
                last = Math.max(last, ticket);
            }
        }
        found.sort(Comparator.comparingLong(each -> each.entry().beginNanos()));
        return new TimelineFile(
                memory.get(INT, TimelineLayout.RANK_AT),
                memory.get(INT, TimelineLayout.WORLD_SIZE_AT),
                memory.get(INT, TimelineLayout.ROUND_AT),
                memory.get(LONG, TimelineLayout.PID_AT),
                memory.get(LONG, TimelineLayout.ANCHOR_NANOS_AT),
                memory.get(LONG, TimelineLayout.ANCHOR_MILLIS_AT),
                found.stream().map(Numbered::entry).toList(),
                Math.max(0, last - memory.get(LONG, TimelineLayout.CAPACITY_AT)));
    }

    /** Empty for an entry with a kind or state that does not exist: the file is damaged there. */
    private static Optional<TimelineEntry> entry(MemorySegment memory, long at, String[] names) {
        long words = memory.get(LONG, at + TimelineLayout.WORDS);
        int kind = (int) words & 0xff;
        int state = (int) (words >>> 8) & 0xff;
        if (kind >= KINDS.length || state >= STATES.length) {
            return Optional.empty();
        }
        long ranks = memory.get(LONG, at + TimelineLayout.RANKS);
        long lateOrTag = memory.get(LONG, at + TimelineLayout.LATE_NANOS);
        boolean isMessage = KINDS[kind] == TimelineEntry.Kind.MESSAGE;
        return Optional.of(new TimelineEntry(
                KINDS[kind],
                STATES[state],
                name(memory, (int) (words >>> 16) & 0xffff, names),
                name(memory, (int) (words >>> 32) & 0xffff, names),
                memory.get(LONG, at + TimelineLayout.NUMBER),
                memory.get(LONG, at + TimelineLayout.BEGIN),
                memory.get(LONG, at + TimelineLayout.END),
                memory.get(LONG, at + TimelineLayout.BYTES),
                name(memory, (int) (words >>> 48), names),
                (int) ranks - 1,
                isMessage ? 0 : lateOrTag,
                (int) (ranks >>> 32) - 1,
                isMessage ? (int) lateOrTag : 0));
    }

    private static String name(MemorySegment memory, int number, String[] names) {
        if (number <= 0 || number >= names.length) {
            return "";
        }
        if (names[number] == null) {
            long at = TimelineLayout.HEADER_BYTES + (long) number * TimelineLayout.NAME_BYTES;
            int length = memory.get(INT, at);
            int limit = TimelineLayout.NAME_BYTES - TimelineLayout.LENGTH_BYTES;
            byte[] utf8 = memory.asSlice(at + TimelineLayout.LENGTH_BYTES, Math.clamp(length, 0, limit))
                    .toArray(ValueLayout.JAVA_BYTE);
            names[number] = new String(utf8, StandardCharsets.UTF_8);
        }
        return names[number];
    }
}
