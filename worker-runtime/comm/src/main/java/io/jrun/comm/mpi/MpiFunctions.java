package io.jrun.comm.mpi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The MPI functions of the backend, once for the process. Initialises MPI. {@link #end} finalises MPI. Thread-safe. */
final class MpiFunctions {
    final MpiLibrary library;
    final MpiTypes types;
    final MemorySegment world;
    final MethodHandle broadcast;
    final MethodHandle allReduce;
    final MethodHandle reduce;
    final MethodHandle allGather;
    final MethodHandle reduceScatter;
    final MethodHandle gather;
    final MethodHandle scatter;
    final MethodHandle allToAll;
    final MethodHandle send;
    final MethodHandle receive;
    final MethodHandle barrier;

    private final MethodHandle finalise;
    private final MethodHandle worldGroup;
    private final MethodHandle include;
    private final MethodHandle createGroup;
    private final MethodHandle freeCommunicator;

    private MpiFunctions(MpiLibrary library) {
        this.library = library;
        this.types = new MpiTypes(library);
        this.world = library.constant("ompi_mpi_comm_world");
        this.broadcast = library.function("MPI_Bcast", ADDRESS, JAVA_INT, ADDRESS, JAVA_INT, ADDRESS);
        this.allReduce = library.function("MPI_Allreduce", ADDRESS, ADDRESS, JAVA_INT, ADDRESS, ADDRESS, ADDRESS);
        this.reduce = library.function("MPI_Reduce", ADDRESS, ADDRESS, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT, ADDRESS);
        this.allGather =
                library.function("MPI_Allgather", ADDRESS, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT, ADDRESS, ADDRESS);
        this.reduceScatter =
                library.function("MPI_Reduce_scatter_block", ADDRESS, ADDRESS, JAVA_INT, ADDRESS, ADDRESS, ADDRESS);
        this.gather = library.function(
                "MPI_Gather", ADDRESS, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT, ADDRESS, JAVA_INT, ADDRESS);
        this.scatter = library.function(
                "MPI_Scatter", ADDRESS, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT, ADDRESS, JAVA_INT, ADDRESS);
        this.allToAll =
                library.function("MPI_Alltoall", ADDRESS, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT, ADDRESS, ADDRESS);
        this.send = library.function("MPI_Send", ADDRESS, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS);
        this.receive = library.function("MPI_Recv", ADDRESS, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
        this.barrier = library.function("MPI_Barrier", ADDRESS);
        this.finalise = library.function("MPI_Finalize");
        this.worldGroup = library.function("MPI_Comm_group", ADDRESS, ADDRESS);
        this.include = library.function("MPI_Group_incl", ADDRESS, JAVA_INT, ADDRESS, ADDRESS);
        this.createGroup = library.function("MPI_Comm_create_group", ADDRESS, ADDRESS, JAVA_INT, ADDRESS);
        this.freeCommunicator = library.function("MPI_Comm_free", ADDRESS);
    }

    /**
     * Opens the library and joins the MPI job.
     *
     * @throws IllegalArgumentException if the library is not installed
     * @throws io.jrun.comm.CommException SYSTEM if MPI refuses
     */
    static MpiFunctions begin() {
        MpiLibrary library = new MpiLibrary();
        try (Arena arena = Arena.ofConfined()) {
            MethodHandle initThread = library.function("MPI_Init_thread", ADDRESS, ADDRESS, JAVA_INT, ADDRESS);
            MethodHandle setHandler = library.function("MPI_Comm_set_errhandler", ADDRESS, ADDRESS);
            MemorySegment none = MemorySegment.NULL;
            MemorySegment provided = arena.allocate(JAVA_INT);
            library.check(
                    (int) initThread.invokeExact(none, none, MpiLibrary.THREAD_MULTIPLE, provided), "MPI_Init_thread");
            MpiFunctions functions = new MpiFunctions(library);
            library.check(
                    (int) setHandler.invokeExact(functions.world, library.constant("ompi_mpi_errors_return")),
                    "MPI_Comm_set_errhandler");
            return functions;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Collective over {@code members} (world ranks) only. Returns a communicator of the members, in this order. */
    MemorySegment communicator(int[] members, int tag) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment all = arena.allocate(ADDRESS);
            library.check((int) worldGroup.invokeExact(world, all), "MPI_Comm_group");
            MemorySegment chosen = arena.allocate(ADDRESS);
            MemorySegment ranks = arena.allocateFrom(JAVA_INT, members);
            library.check(
                    (int) include.invokeExact(all.get(ADDRESS, 0), members.length, ranks, chosen), "MPI_Group_incl");
            MemorySegment made = arena.allocate(ADDRESS);
            library.check(
                    (int) createGroup.invokeExact(world, chosen.get(ADDRESS, 0), tag, made), "MPI_Comm_create_group");
            return made.get(ADDRESS, 0);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Frees a communicator. Collective over its members. */
    void free(MemorySegment communicator) {
        try (Arena arena = Arena.ofConfined()) {
            library.check(
                    (int) freeCommunicator.invokeExact(arena.allocateFrom(ADDRESS, communicator)), "MPI_Comm_free");
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Finalizes MPI in this process. Collective over the job. */
    void end() {
        try {
            library.check((int) finalise.invokeExact(), "MPI_Finalize");
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
