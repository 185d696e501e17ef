package io.jrun.comm.timeline;

import static io.jrun.comm.timeline.TimelineLayout.ATOMIC;
import static io.jrun.comm.timeline.TimelineLayout.ENTRY_BYTES;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/** Copies the timeline of a rank, also while the rank writes it: the copy has no half-written entry. Stateless. */
public final class TimelineCopy {
    private TimelineCopy() {}

    /**
     * Writes a copy of a file. Does not close {@code out}.
     *
     * @throws IOException if the file does not exist or is no timeline
     */
    public static void write(Path file, OutputStream out) throws IOException {
        try (FileChannel channel = FileChannel.open(file);
                Arena arena = Arena.ofConfined()) {
            long bytes = channel.size();
            if (bytes < TimelineLayout.ENTRIES_AT) {
                throw new IOException(file + " is not a timeline");
            }
            MemorySegment memory = channel.map(FileChannel.MapMode.READ_ONLY, 0, bytes, arena);
            OutputStream buffered = new BufferedOutputStream(out, TimelineLayout.ENTRIES_AT);
            buffered.write(memory.asSlice(0, TimelineLayout.ENTRIES_AT).toArray(ValueLayout.JAVA_BYTE));
            byte[] entry = new byte[ENTRY_BYTES];
            byte[] none = new byte[ENTRY_BYTES];
            for (long at = TimelineLayout.ENTRIES_AT; at + ENTRY_BYTES <= bytes; at += ENTRY_BYTES) {
                long ticket = (long) ATOMIC.getAcquire(memory, at);
                MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, at, entry, 0, ENTRY_BYTES);
                VarHandle.acquireFence();
                boolean isWhole = ticket > 0 && ticket == (long) ATOMIC.getOpaque(memory, at);
                buffered.write(isWhole ? entry : none);
            }
            buffered.flush();
        }
    }
}
