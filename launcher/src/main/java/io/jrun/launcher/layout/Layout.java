package io.jrun.launcher.layout;

import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/** Places ranks on nodes: in node order, each node's local ranks together. Pure. */
public final class Layout {
    private Layout() {}

    /**
     * The rank map of workers on {@code nodes}.
     *
     * @param count the workers of a node, by its rank
     * @throws LayoutException if a node lacks the GPUs that were asked for
     */
    public static RankMap place(List<Node> nodes, IntFunction<WorkerCount> count, GpuVisibility visibility) {
        List<Placement> placements = new ArrayList<>();
        for (Node node : nodes) {
            int slots = slots(node, count.apply(node.nodeRank()));
            if (visibility == GpuVisibility.ONE && slots > node.gpus().size()) {
                throw new LayoutException("--gpu-visibility one: " + slots + " workers on " + node.host()
                        + ", which has " + gpus(node) + ". Lower --nproc-per-node, or use --gpu-visibility all.");
            }
            for (int localRank = 0; localRank < slots; localRank++) {
                String gpu = visibility == GpuVisibility.ALL ? "" : device(node, localRank);
                placements.add(new Placement(placements.size(), node.nodeRank(), localRank, node.host(), gpu));
            }
        }
        return new RankMap(nodes, placements);
    }

    /**
     * What a user who named no visibility should read once: on these nodes several workers have the same device.
     *
     * @param ranks placed with {@code visibility}
     */
    public static List<String> sharedDevices(RankMap ranks, GpuVisibility visibility) {
        List<String> notices = new ArrayList<>();
        for (Node node : ranks.nodes()) {
            int workers = ranks.onNode(node.nodeRank()).size();
            int devices = node.gpus().size();
            if (visibility == GpuVisibility.ONE_BY_DEFAULT && devices > 0 && workers > devices) {
                notices.add(workers + " workers share the " + gpus(node) + " of " + node.host() + ", up to "
                        + (workers + devices - 1) / devices + " on each; --nproc-per-node=gpu starts one per GPU,"
                        + " --gpu-visibility=all shows every worker all of them");
            }
        }
        return notices;
    }

    private static int slots(Node node, WorkerCount count) {
        return switch (count) {
            case WorkerCount.Exactly(int exactly) -> exactly;
            case WorkerCount.PerCore() -> Math.max(1, node.cores());
            case WorkerCount.Auto() ->
                node.gpus().isEmpty() ? Math.max(1, node.cores()) : node.gpus().size();
            case WorkerCount.PerGpu() -> {
                if (node.gpus().isEmpty()) {
                    throw new LayoutException("--nproc-per-node gpu: " + node.host()
                            + " has no GPU that jrun can see. Use a number, cpu or auto.");
                }
                yield node.gpus().size();
            }
        };
    }

    private static String device(Node node, int localRank) {
        return node.gpus().isEmpty()
                ? ""
                : node.gpus().get(localRank % node.gpus().size());
    }

    private static String gpus(Node node) {
        int count = node.gpus().size();
        return count == 0 ? "no GPU" : count == 1 ? "1 GPU" : count + " GPUs";
    }
}
