package io.jrun.bench.collective;

/** Every rank gets its block of rank 0's input. */
final class Scatter implements BlockOperation {
    @Override
    public String name() {
        return "scatter";
    }

    @Override
    public void run(BenchCase cell) {
        cell.group().scatter(cell.input(), cell.result(), cell.type(), cell.block(), 0);
    }

    @Override
    public Expected expected(BenchCase cell) {
        long first = cell.rank() * cell.block();
        return new Expected(cell.block(), i -> cell.value(0, first + i));
    }
}
