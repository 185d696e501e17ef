package io.jrun.comm.mpi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/**
 * The MPI job of this process. The ranks exchange their addresses over MPI, without jrun's agent. There is one per
 * process, as in MPI. Thread-safe.
 */
public final class MpiJob implements GroupRendezvous {
    /** The size of one rank's line in {@link #exchange}, and of the bytes of {@link #fromFirst}. */
    private static final int LINE_BYTES = 1024;

    private static final int RENDEZVOUS_TAG = 0x7ffe;

    private static final AtomicReference<Optional<MpiJob>> CURRENT = new AtomicReference<>(Optional.empty());

    private final MpiFunctions mpi;
    private final int rank;
    private final int size;

    private MpiJob(MpiFunctions mpi) {
        this.mpi = mpi;
        this.rank = number("MPI_Comm_rank");
        this.size = number("MPI_Comm_size");
    }

    /** Whether the environment is that of a process that mpirun or srun --mpi=pmix has started. */
    public static boolean hasStarted(Map<String, String> variables) {
        return variables.containsKey("OMPI_COMM_WORLD_RANK") || variables.containsKey("PMIX_RANK");
    }

    /**
     * Joins the MPI job, once per process.
     *
     * @throws CommException USAGE if MPI is not installed; SYSTEM if MPI refuses
     */
    public static MpiJob join() {
        unavailableReason().ifPresent(missing -> {
            throw new CommException(ErrorCode.USAGE, "this process was started by MPI, but " + missing);
        });
        MpiJob job = new MpiJob(MpiFunctions.begin());
        CURRENT.set(Optional.of(job));
        return job;
    }

    /** Returns the reason why MPI cannot be used on this machine, and the remedy; empty if MPI can be used. */
    static Optional<String> unavailableReason() {
        try {
            MpiLibrary _ = new MpiLibrary();
            return Optional.empty();
        } catch (IllegalArgumentException notFound) {
            return Optional.of("Open MPI 4's " + MpiLibrary.FILE
                    + " is not installed. Install it (Debian: apt install openmpi-bin), or set LD_LIBRARY_PATH");
        }
    }

    /** Returns the job that {@link #join} has joined. */
    static Optional<MpiJob> current() {
        return CURRENT.get();
    }

    MpiFunctions functions() {
        return mpi;
    }

    /** Returns the number of this process. */
    public int rank() {
        return rank;
    }

    /** Returns the number of processes. */
    public int size() {
        return size;
    }

    /**
     * Collective over the job. Returns the lines of all processes, by rank. A line has at most {@value #LINE_BYTES}
     * bytes.
     */
    public List<String> exchange(String mine) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment line = arena.allocate(LINE_BYTES);
            line.setString(0, mine);
            MemorySegment all = arena.allocate((long) LINE_BYTES * size);
            MemorySegment bytes = mpi.library.constant("ompi_mpi_byte");
            mpi.library.check(
                    (int) mpi.allGather.invokeExact(line, LINE_BYTES, bytes, all, LINE_BYTES, bytes, mpi.world),
                    "MPI_Allgather of addresses");
            List<String> lines = new ArrayList<>();
            for (int r = 0; r < size; r++) {
                lines.add(all.getString((long) LINE_BYTES * r, StandardCharsets.UTF_8));
            }
            return lines;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** The members do not meet, because MPI has no wait with a deadline. */
    @Override
    public boolean meet(GroupContext group, boolean isReady, Deadline deadline) {
        return isReady;
    }

    /** See {@link GroupRendezvous}. Uses a communicator of the group's members. MPI supports no deadline here. */
    @Override
    public byte[] fromFirst(GroupContext group, Supplier<byte[]> offer, Deadline deadline) {
        byte[] offered = group.groupRank() == 0 ? offer.get() : new byte[0];
        MemorySegment members = mpi.communicator(MpiBackend.worldRanks(group), RENDEZVOUS_TAG);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment message = arena.allocate(Integer.BYTES + LINE_BYTES);
            message.set(JAVA_INT, 0, offered.length);
            MemorySegment.copy(MemorySegment.ofArray(offered), 0, message, Integer.BYTES, offered.length);
            int length = (int) message.byteSize();
            mpi.library.check(
                    (int) mpi.broadcast.invokeExact(message, length, mpi.library.constant("ompi_mpi_byte"), 0, members),
                    "MPI_Bcast for " + group.label());
            return message.asSlice(Integer.BYTES, message.get(JAVA_INT, 0)).toArray(JAVA_BYTE);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        } finally {
            mpi.free(members);
        }
    }

    /** Collective over the job. Finalizes MPI. No method of this class may be called afterwards. */
    public void end() {
        CURRENT.set(Optional.empty());
        mpi.end();
    }

    private int number(String function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(JAVA_INT);
            mpi.library.check(
                    (int) mpi.library.function(function, ADDRESS, ADDRESS).invokeExact(mpi.world, value), function);
            return value.get(JAVA_INT, 0);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
