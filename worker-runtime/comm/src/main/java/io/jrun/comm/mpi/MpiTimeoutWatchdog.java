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
 * Ends the process when an operation that MPI blocks in has passed its deadline, or when its group was poisoned meanwhile:
 * MPI cannot abandon an operation. Whoever started the ranks then ends the others. Thread-safe.
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
            posts.forEach(Post::look);
        }
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    /** What runs on one group: its collective, for which a field is enough, and a message to or from each peer. */
    final class Post implements AutoCloseable {
        private final GroupContext group;
        private final Map<Thread, Call> messages = new ConcurrentHashMap<>();
        private volatile @Nullable Call collective;

        private Post(GroupContext group) {
            this.group = group;
        }

        /** An operation begins on this thread. */
        void begin(Call call) {
            if (call.kind().isMessage()) {
                messages.put(Thread.currentThread(), call);
            } else {
                collective = call;
            }
        }

        /** It has ended. */
        void end(Call call) {
            if (call.kind().isMessage()) {
                messages.remove(Thread.currentThread());
            } else {
                collective = null;
            }
        }

        private void look() {
            Call current = collective;
            if (current != null) {
                look(current);
            }
            messages.values().forEach(this::look);
        }

        private void look(Call call) {
            CommException cause = group.health().cause();
            if (cause != null) {
                endProcess(call, String.valueOf(cause.getMessage()));
            } else if (call.deadline().passed()) {
                endProcess(
                        call, "it has passed its deadline of " + call.timeout().toSeconds() + " s");
            }
        }

        private void endProcess(Call call, String why) {
            System.err.println("jrun: rank " + group.world().rank() + ": " + call.describe() + " on group "
                    + group.name() + " waits in MPI, which cannot be called back: " + why
                    + ". This process ends, and its launcher the job.");
            System.err.flush();
            Runtime.getRuntime().halt(1);
        }

        @Override
        public void close() {
            posts.remove(this);
        }
    }
}
