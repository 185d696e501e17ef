package io.jrun.comm.mpi;

import io.jrun.comm.CommException;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.control.RuntimeThread;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Ends the process when a blocking MPI operation has passed its deadline, or when its group was poisoned during the
 * operation, because MPI cannot cancel an operation. The launcher of the ranks then ends the other ranks. Thread-safe.
 */
final class MpiTimeoutWatchdog implements AutoCloseable {
    private static final long TURN_NANOS = 200_000_000;

    private final CopyOnWriteArrayList<Post> posts = new CopyOnWriteArrayList<>();
    private final Thread thread;
    private volatile boolean closed;

    MpiTimeoutWatchdog() {
        thread = RuntimeThread.start("mpi-watch", this::watch);
    }

    /** Watches a group from now on. */
    Post over(GroupContext group) {
        Post post = new Post(group);
        posts.add(post);
        return post;
    }

    private void watch() {
        while (!closed) {
            LockSupport.parkNanos(TURN_NANOS);
            posts.forEach(Post::checkAll);
        }
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    /** The running operations of one group: its collective, and a message to or from each peer. */
    final class Post implements AutoCloseable {
        private final GroupContext group;
        private final Map<Thread, Call> messages = new ConcurrentHashMap<>();
        private volatile @Nullable Call collective;

        private Post(GroupContext group) {
            this.group = group;
        }

        /** Records the start of an operation on this thread. */
        void begin(Call call) {
            if (call.kind().isMessage()) {
                messages.put(Thread.currentThread(), call);
            } else {
                collective = call;
            }
        }

        /** Records the end of an operation. */
        void end(Call call) {
            if (call.kind().isMessage()) {
                messages.remove(Thread.currentThread());
            } else {
                collective = null;
            }
        }

        private void checkAll() {
            Call current = collective;
            if (current != null) {
                check(current);
            }
            messages.values().forEach(this::check);
        }

        private void check(Call call) {
            CommException cause = group.health().cause();
            if (cause != null) {
                endProcess(call, String.valueOf(cause.getMessage()));
            } else if (call.deadline().passed()) {
                endProcess(
                        call,
                        "the operation has passed its deadline of "
                                + call.timeout().toSeconds() + " s");
            }
        }

        private void endProcess(Call call, String why) {
            System.err.println("jrun: rank " + group.world().rank() + ": " + call.describe() + " on "
                    + group.label() + " waits in MPI, which cannot cancel an operation: " + why
                    + ". This process ends, and its launcher ends the job.");
            System.err.flush();
            Runtime.getRuntime().halt(1);
        }

        @Override
        public void close() {
            posts.remove(this);
        }
    }
}
