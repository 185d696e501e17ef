package io.jrun.bench.collective;

/** Every rank gets the blocks of all ranks. */
final class AllGather implements BlockOperation {
    @Override
    public String name() {
        return "allgather";
    }

    @Override
    public void run(BenchCase cell) {
        cell.group().allGather(cell.input(), cell.result(), cell.type(), cell.block());
    }

    @Override
    public Expected expected(BenchCase cell) {
        long block = cell.block();
        return new Expected(block * cell.group().size(), i -> cell.value(i / block, i % block));
    }
}
